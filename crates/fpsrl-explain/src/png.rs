//! Pictures as PNG, for documents that do not take SVG.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use fpsrl_base::error::{Error, Result};

/// Pixels for each unit of a picture.
const SCALE: f32 = 2.0;

/// An SVG document of ours as PNG, twice as large, for sharp lines. Its texts are set in fonts of the system.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let mut options = Options { font_family: "DejaVu Sans".into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    let tree = Tree::from_str(svg, &options).map_err(|_| Error::Internal("a picture of ours is not SVG"))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or(Error::Internal("a picture has no size"))?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or(Error::Internal("a picture is too large"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|_| Error::Internal("a picture cannot be encoded"))
}
