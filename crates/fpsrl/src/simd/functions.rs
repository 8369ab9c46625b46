//! Arctangent, exponential, hyperbolic tangent, sine and cosine on lanes.
