package diffreview

import (
	"bytes"
	"testing"
	"time"
)

func shown(t *testing.T) *ChangeSet {
	t.Helper()
	cs := build(t, newSource(
		tree{"a.go": text(numbered(9, nil)), "run.sh": text("x\n"), "logo.png": text("\x00a"), "old": text("x\ny\n")},
		tree{
			"a.go": text(numbered(9, map[int]string{5: "five\n"})), "run.sh": {data: "x\n", exec: true},
			"logo.png": text("\x00bc"), "bad\xff\x1b.md": text("hi\n"), "link": {data: "a.go", link: true},
		},
	))
	cs.Session, cs.Repo, cs.SnapshotAt = "s1", "/src/app", time.Unix(0, 0)
	cs.Ignored = IgnoredChanges{Count: 2, Paths: []string{"dist/a", "dist/\xff"}}
	cs.LeftOut = []LeftOut{{Path: "run/pipe", Reason: "named pipe"}}
	for i := range cs.Files {
		if f := &cs.Files[i]; f.Path == "run.sh" {
			f.Findings = []Finding{{Rule: "executable-bit", Severity: Warn, Why: "it can be run"}}
		}
	}
	return cs
}

func TestWriteJSON(t *testing.T) {
	cs := shown(t)
	for i := range cs.Files {
		cs.Files[i].Whole = "w"
		for j := range cs.Files[i].Hunks {
			cs.Files[i].Hunks[j].ID = "h"
		}
	}
	cs.Files = cs.Files[:2]
	cs.Files[0].Hunks[0].Decision = Approved
	cs.Files[0].WholeDecision = Approved
	var b bytes.Buffer
	if err := WriteJSON(&b, cs); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "session": "s1",
  "repo": "/src/app",
  "files": [
    {
      "path": "a.go",
      "old_path": "",
      "status": "modified",
      "binary": false,
      "old_mode": "100644",
      "new_mode": "100644",
      "added": 1,
      "removed": 1,
      "risks": [],
      "decision": "approved",
      "whole": "w",
      "hunks": [
        {
          "id": "h",
          "old_start": 2,
          "old_lines": 7,
          "new_start": 2,
          "new_lines": 7,
          "decision": "approved"
        }
      ]
    },
    {
      "path": "link",
      "old_path": "",
      "status": "added",
      "binary": false,
      "old_mode": "",
      "new_mode": "120000",
      "added": 0,
      "removed": 0,
      "risks": [],
      "decision": "undecided",
      "whole": "w",
      "hunks": []
    }
  ],
  "ignored_changes": {
    "count": 2,
    "paths": [
      "dist/a",
      "dist/` + "\ufffd" + `"
    ],
    "paths_b64": [
      "ZGlzdC9h",
      "ZGlzdC//"
    ],
    "truncated": false
  },
  "left_out": [
    {
      "path": "run/pipe",
      "reason": "named pipe",
      "size": 0
    }
  ]
}
`
	if b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestWriteStat(t *testing.T) {
	var b bytes.Buffer
	if err := WriteStat(&b, shown(t), 80); err != nil {
		t.Fatal(err)
	}
	const want = ` a.go             |          2 +-
 link             |       link
 logo.png         | Bin 2 -> 3 bytes
 old              |          2 --
 run.sh           | mode 100644 -> 100755
 "bad\xff\x1b.md" |          1 +
 6 files changed, 2 insertions(+), 3 deletions(-)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
