//! What is almost right gets the nearest that is: places to run, configs, keys and registries.

use crate::support::refusal::check;
use crate::support::workspace::Workspace;

#[test]
fn a_file_for_a_folder_and_a_folder_for_a_file_are_named() {
    let workspace = Workspace::new();
    workspace.write("g.txt", "f5d6\n");
    workspace.write("folder/g.txt", "f5d6\n");
    for arguments in ["dataset inspect g.txt", "dataset verify g.txt"] {
        check(
            &workspace,
            arguments,
            2,
            &["g.txt: it is a file, and a folder is expected"],
        );
    }
    for arguments in [
        "eval folder",
        "solve folder",
        "dataset import folder --format text --output out",
    ] {
        check(
            &workspace,
            arguments,
            2,
            &["folder: it is a folder, and a file is expected"],
        );
    }
}
