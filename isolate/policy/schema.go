package policy

import "time"

// field is one key of the policy file: where it stands, what it may hold and
// what it means. Parse, Encode and Template all read this one table, so a key
// cannot be parsed but not printed, or printed but not documented.
type field[T any] struct {
	table string // "" is the top of the file
	key   string
	at    func(*T) any // a pointer to the value
	words []string     // for text and Choice: what may be written; nil is any text
	date  bool         // text that is a TOML date
	none  bool         // 0, "none" and "never" mean no limit
	doc   []string     // for Template: meaning, unit, limits
	eg    string       // of an entry, for Template: an example, as TOML
}

// fields lists the keys in the order in which they are printed. It is a
// function and not a variable, since every exec of the binary would pay for
// building it.
func fields() []field[Policy] {
	return []field[Policy]{
		{
			key: "tool", at: func(p *Policy) any { return &p.Tool },
			doc: []string{"What this policy is for; shown, decides nothing."},
		},
		{
			key: "owner", at: func(p *Policy) any { return &p.Owner },
			doc: []string{"Who answers for it; shown, decides nothing."},
		},
		{
			key: "reviewed", at: func(p *Policy) any { return &p.Reviewed }, date: true,
			doc: []string{"When it was last reviewed: a date, YYYY-MM-DD, without quotes."},
		},
		{
			key: "tenant", at: func(p *Policy) any { return &p.Tenant },
			doc: []string{"A name on every line of the record; empty: the account's name."},
		},

		{
			table: "boundary", key: "enforced_by", at: func(p *Policy) any { return &p.Boundary.EnforcedBy },
			words: []string{"process restriction", "user-space kernel", "container", "microVM"},
			doc:   []string{`What the walls are made of. Only "process restriction" is built;`, "the others are refused."},
		},
		{
			table: "boundary", key: "require", at: func(p *Policy) any { return &p.Boundary.Require },
			doc: []string{
				"Layers without which nothing starts: namespaces, limits, identity,", "landlock, seccomp.",
				`"landlock>=6" asks for a level. Every layer is always closed;`, "this can only ask for more.",
			},
		},
		{
			table: "boundary", key: "proven", at: func(p *Policy) any { return &p.Boundary.Proven },
			words: []string{"shown", "required"},
			doc: []string{
				`"shown", or "required": start only when all wall tests held with this policy`,
				`on this machine as it is now ("fumehood walls" runs them).`,
			},
		},
		{
			table: "boundary", key: "debuggers", at: func(p *Policy) any { return &p.Boundary.Debuggers },
			doc: []string{"ptrace among the session's own processes. true is refused: not built."},
		},

		{
			table: "filesystem", key: "include", at: func(p *Policy) any { return &p.Filesystem.Include },
			words: []string{"none", "auto"},
			doc:   []string{"Ignored by git, brought in all the same: a list of patterns, or", `"none", or "auto": folders that package managers fill, such as`, "node_modules, .venv and vendor."},
		},
		{
			table: "filesystem", key: "exclude", at: func(p *Policy) any { return &p.Filesystem.Exclude },
			doc: []string{"Patterns never brought in, tracked or not."},
		},
		{
			table: "filesystem", key: "history", at: func(p *Policy) any { return &p.Filesystem.History },
			words: []string{"head", "all", "none"},
			doc:   []string{`Git objects inside: "head" is what HEAD reaches, "all" adds other`, `branches, stashes and dropped commits, "none" is none.`},
		},
		{
			table: "filesystem", key: "inputs", at: func(p *Policy) any { return &p.Filesystem.Inputs },
			doc: []string{"Host folders, read-only inside: absolute, or beginning with ~/."},
		},
		{
			table: "filesystem", key: "toolchains", at: func(p *Policy) any { return &p.Filesystem.Toolchains },
			words: []string{"auto", "none"},
			doc: []string{
				`"auto": the known toolchain managers' sub-folders that PATH points`,
				`at, read-only; or a list of host folders; or "none".`,
			},
		},

		{
			table: "limits", key: "cpus", at: func(p *Policy) any { return &p.Limits.CPUs }, none: true,
			doc: []string{`Whole processors; "all but one" of this machine's leaves one to you.`},
		},
		{
			table: "limits", key: "memory", at: func(p *Policy) any { return &p.Limits.Memory }, none: true,
			doc: []string{
				`Bytes, as "4GiB"; "half" is half of this machine's RAM.`,
				"Each process by the kernel; the total too where there is a cgroup of this",
				"account's own, else by sampling every 250 ms (2 s at rest).",
			},
		},
		{
			table: "limits", key: "processes", at: func(p *Policy) any { return &p.Limits.Processes }, none: true,
			doc: []string{"Threads count, as the kernel counts them."},
		},
		{
			table: "limits", key: "disk", at: func(p *Policy) any { return &p.Limits.Disk }, none: true,
			doc: []string{
				"Bytes of workspace and home together, the copy included. Sampled; one",
				"file by the kernel. At most one name for every 4 KiB, 100000 in any case.",
			},
		},
		{
			table: "limits", key: "run_time", at: func(p *Policy) any { return &p.Limits.RunTime }, none: true,
			doc: []string{`One captured run or exec: "10m", "1h30m"; units ms, s, m, h, d.`},
		},
		{
			table: "limits", key: "session_time", at: func(p *Policy) any { return &p.Limits.SessionTime }, none: true,
			doc: []string{"The whole session, from the start of its processes."},
		},
		{
			table: "limits", key: "output_chars", at: func(p *Policy) any { return &p.Limits.OutputChars }, none: true,
			doc: []string{"Characters of each output stream in a result; cuts, stops nothing."},
		},
		{
			table: "limits", key: "output_bytes", at: func(p *Policy) any { return &p.Limits.OutputBytes }, none: true,
			doc: []string{"The stored log: its head is kept, its tail in a ring."},
		},

		{
			table: "terminal", key: "clipboard", at: func(p *Policy) any { return &p.Terminal.Clipboard },
			words: []string{"deny", "ask", "allow"},
			doc: []string{
				`Writing your clipboard from inside: "deny"; "ask": the workbench asks you`,
				`each time, an attached terminal refuses; "allow". Reading it: never.`,
			},
		},

		{
			table: "results", key: "leave", at: func(p *Policy) any { return &p.Results.Leave },
			words: []string{"diff", "artifacts"},
			doc:   []string{`What may leave: "diff". "artifacts" is refused: not built.`},
		},
		{
			table: "results", key: "artifacts", at: func(p *Policy) any { return &p.Results.Artifacts },
			doc: []string{`Patterns of artifacts; only with leave = "artifacts".`},
		},
		{
			table: "results", key: "review", at: func(p *Policy) any { return &p.Results.Review },
			doc: []string{"Who decides what comes back; shown, decides nothing."},
		},

		{
			table: "lifecycle", key: "idle", at: func(p *Policy) any { return &p.Lifecycle.Idle }, none: true,
			doc: []string{"No output and no input for so long: the processes are ended."},
		},
		{
			table: "lifecycle", key: "keep", at: func(p *Policy) any { return &p.Lifecycle.Keep },
			doc: []string{"In the record after the processes ended: both are always kept,", "so only this list is accepted."},
		},
	}
}

// place is where a key stands in the file.
type place struct{ table, key string }

// places lists every key with its table, for the nearest known key.
func places() []place {
	var all []place
	for _, f := range fields() {
		all = append(all, place{f.table, f.key})
	}
	for _, f := range allowFields() {
		all = append(all, place{f.table, f.key})
	}
	for _, f := range credentialFields() {
		all = append(all, place{f.table, f.key})
	}
	return all
}

// tables lists the tables of the file in the order in which they are printed;
// the last two are arrays of tables.
func tables() []string {
	return []string{
		"boundary", "filesystem", "limits", "terminal", "results", "lifecycle",
		"network", "network.allow", "credentials",
	}
}

// Limits of what a policy file may hold, so that a hostile or damaged file is
// an error and not a stall.
const (
	maxFile    = 64 << 10              // bytes
	maxText    = 1024                  // bytes of one text
	maxList    = 256                   // entries of one list
	maxEntries = 64                    // [[network.allow]] or [[credentials]]
	maxDepth   = 16                    // nested arrays and tables
	maxCount   = 1 << 30               // processes, characters
	maxTime    = 3650 * 24 * time.Hour // a duration
	maxBytes   = Bytes(1) << 50        // a size
)
