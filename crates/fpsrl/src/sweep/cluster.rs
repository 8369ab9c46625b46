//! Sweeps where a cluster has a queue but no scheduler of ours: the run directories are made here, and each element of a job goes on
//! with one of them by `fpsrl run --resume`. Afterwards the sweep gathers what has come of them.

use std::path::PathBuf;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_base::visible::shell_word;
use serde_json::json;

use super::conduct::is_left;
use super::execute::Outcome;
use super::plan::Sweep;
use super::state::Digests;
use crate::progress::{Progress, Stage, Status};
use crate::run::Lock;
use crate::world::process::Permission;

/// The list of runs that a job makes, in the directory of the runs.
const LIST: &str = "runs.txt";

/// Many clusters allow arrays of so many elements; with more runs, each makes several.
const MOST_ELEMENTS: usize = 1_000;

/// Runs that are prepared for a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The directory of the runs, as an absolute path.
    pub directory: PathBuf,
    /// The names of the runs, as they stand in the list.
    pub runs: Vec<String>,
    /// Runs that failed before they began: their logs could not be read.
    pub failed: usize,
    /// Whether they may start the programs that their problems name as worlds.
    pub permission: Permission,
}

impl Sweep {
    /// Makes the directories of the runs that are left, with their problems and logs, and writes the list of them.
    pub fn list(&self, retry: bool, progress: &Progress) -> Result<Listed> {
        let digests = Digests::default();
        let states = self.begin()?;
        let _lock = Lock::of(self.directory())?;
        let left: Vec<_> =
            self.runs().iter().zip(&states).filter(|(_, state)| is_left(state, retry)).map(|(run, _)| run).collect();
        progress.begin(Stage::Sweep, left.len() as u64);
        let (mut runs, mut failed) = (Vec::new(), 0);
        for (index, run) in left.iter().enumerate() {
            match self.kept(run, &digests, || self.prepare_with(run, &digests, &Progress::silent()).map(drop))? {
                Outcome::Failed(_) => failed += 1,
                _ => runs.push(run.name.clone()),
            }
            if progress.stop_requested() {
                return Err(Error::Stopped { stage: "sweep" });
            }
            progress.update(Stage::Sweep, index as u64 + 1, Status::Counting);
        }
        progress.end(Stage::Sweep);
        let text: String = runs.iter().map(|run| format!("{run}\n")).collect();
        files::write_atomically(&self.directory().join(LIST), |file| file.write_all(text.as_bytes()))?;
        self.write_plan(&self.states()?)?;
        let directory = files::absolute(self.directory());
        Ok(Listed { directory, runs, failed, permission: self.permission() })
    }
}

/// A job array for Slurm: a script for `sbatch`.
///
/// ```
/// use fpsrl::sweep::{Listed, slurm};
/// let listed = Listed { directory: "/data/it's mine".into(), runs: vec!["seed=1".into(), "seed=2".into()], ..Listed::default() };
/// let script = slurm(&listed, "tank");
/// assert!(script.contains("#SBATCH --array=1-2\n"));
/// assert!(script.contains(r"cd -- '/data/it'\''s mine'"));
/// ```
pub fn slurm(listed: &Listed, name: &str) -> String {
    let count = listed.runs.len();
    let elements = count.clamp(1, MOST_ELEMENTS);
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name={name}\n\
         #SBATCH --array=1-{elements}\n\
         #SBATCH --cpus-per-task=4\n\
         # Add what your cluster asks for: --time, --mem, --partition, --account.\n\
         # Element N makes line N of {LIST}, and every {elements}th line after it. A run that was cut off goes on where it stood.\n\
         set -u\n\
         cd -- {directory} || exit 1\n\
         failed=0\n\
         for ((line = SLURM_ARRAY_TASK_ID; line <= {count}; line += {elements})); do\n\
         \x20 run=$(sed -n \"${{line}}p\" {LIST})\n\
         \x20 fpsrl run --resume \"./$run\" --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" --quiet{allow} || failed=1\n\
         done\n\
         exit \"$failed\"\n",
        name = job_name(name),
        // It is a script of bash, which has a way to write signs that act.
        directory = shell_word(&listed.directory.to_string_lossy()),
        allow = listed.allow(),
    )
}

/// An indexed Job for Kubernetes. It is JSON, which `kubectl apply -f -` takes as well as YAML, and which no name can break.
///
/// ```
/// use fpsrl::sweep::{Listed, kubernetes};
/// let listed = Listed { directory: "/data/runs".into(), runs: vec!["seed=1".into()], ..Listed::default() };
/// let manifest: serde_json::Value = serde_json::from_str(&kubernetes(&listed, "tank", 4)).unwrap();
/// assert_eq!(manifest["spec"]["completionMode"], "Indexed");
/// assert_eq!(manifest["spec"]["completions"], 1);
/// ```
pub fn kubernetes(listed: &Listed, name: &str, parallelism: usize) -> String {
    let directory = listed.directory.to_string_lossy().into_owned();
    let script = format!(
        "cd -- {} || exit 1\nrun=$(sed -n \"$((JOB_COMPLETION_INDEX + 1))p\" {LIST})\nexec fpsrl run --resume \"./$run\" --quiet{}\n",
        quoted(&directory),
        listed.allow()
    );
    let count = listed.runs.len();
    let manifest = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": job_name(name) },
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": parallelism.clamp(1, count.max(1)),
            // One that fails does not stop the others.
            "backoffLimitPerIndex": 1,
            "maxFailedIndexes": count,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{
                        "name": "fpsrl",
                        "image": "fpsrl:latest",
                        "command": ["/bin/sh", "-c", script],
                        "resources": { "requests": { "cpu": "4", "memory": "2Gi" } },
                        "volumeMounts": [{ "name": "runs", "mountPath": directory }]
                    }],
                    "volumes": [{ "name": "runs", "persistentVolumeClaim": { "claimName": "fpsrl-runs" } }]
                }
            }
        }
    });
    format!("{manifest:#}\n")
}

impl Listed {
    /// The option of the permission.
    fn allow(&self) -> &'static str {
        if self.permission == Permission::Allowed { " --allow-process" } else { "" }
    }
}

/// A text as one word of any shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A name that both kinds of cluster take: small letters, digits and hyphens.
fn job_name(name: &str) -> String {
    let kept: String = name
        .to_lowercase()
        .chars()
        .map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' })
        .take(50)
        .collect();
    let kept = kept.trim_matches('-');
    if kept.is_empty() { "fpsrl-sweep".into() } else { format!("fpsrl-{kept}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_kind_break_neither_script_nor_manifest() {
        for name in ["x\n#SBATCH --evil", "a\u{1b}]0;b\u{7}", "$(rm -rf ~)", "\"'`", "", "Ä ö"] {
            let listed =
                Listed { directory: format!("/d/{name}").into(), runs: vec!["a".into(); 2_500], ..Listed::default() };
            let script = slurm(&listed, name);
            assert_eq!(script.matches("#SBATCH").count(), 3 + name.matches("#SBATCH").count());
            assert!(script.contains("--array=1-1000\n") && !script.contains("--allow-process"));
            assert_eq!(script.lines().count(), 14, "{script}");
            let allowed = Listed { permission: Permission::Allowed, ..listed.clone() };
            assert!(slurm(&allowed, name).contains("--quiet --allow-process || failed=1"));
            assert!(kubernetes(&allowed, name, 8).contains("--quiet --allow-process\\n"));
            let manifest: serde_json::Value = serde_json::from_str(&kubernetes(&listed, name, 8)).unwrap();
            let job = manifest["metadata"]["name"].as_str().unwrap();
            assert!(
                job.len() <= 63
                    && job.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-')
            );
            assert_eq!(manifest["spec"]["parallelism"], 8);
        }
    }
}
