package policy

import (
	"fmt"
	"time"
)

// stands keeps the user's: the field decides nothing, or the repository's
// policy can't have it.
func stands(*meet, string, any, any, any) {}

// yours keeps the user's and lists a difference, which no trust brings in.
func yours(why string) meeting {
	return func(m *meet, key string, user, repo, _ any) {
		u, ok := user.(*string)
		r, ok2 := repo.(*string)
		if ok && ok2 && *u != *r {
			m.wider(Widening{Key: key, Have: textOf(user), Want: textOf(repo), Why: why})
		}
	}
}

// never is yours for a flag: false is the narrower.
func never(why string) meeting {
	return func(m *meet, key string, user, repo, out any) {
		u, ok := user.(*bool)
		r, ok2 := repo.(*bool)
		o, ok3 := out.(*bool)
		if !ok || !ok2 || !ok3 {
			return
		}
		if *o = *u && *r; *r && !*u {
			m.wider(Widening{Key: key, Have: "false", Want: "true", Why: why})
		}
	}
}

// ordered takes the narrower of two words; words lists them, narrowest first.
// A word that is not among them is taken for the widest.
func ordered(why string, words ...string) meeting {
	rank := func(s string) int {
		for i, w := range words {
			if w == s {
				return i
			}
		}
		return len(words)
	}
	return func(m *meet, key string, user, repo, out any) {
		u, ok := user.(*string)
		r, ok2 := repo.(*string)
		o, ok3 := out.(*string)
		if !ok || !ok2 || !ok3 {
			return
		}
		switch {
		case rank(*r) < rank(*u):
			*o = *r
		case rank(*r) > rank(*u):
			m.wider(Widening{Key: key, Have: *u, Want: *r, Why: why})
		}
	}
}

// union takes both lists: of layers that are required and of files that stay
// out, more is narrower.
func union(_ *meet, _ string, user, repo, out any) {
	u, ok := user.(*[]string)
	r, ok2 := repo.(*[]string)
	o, ok3 := out.(*[]string)
	if !ok || !ok2 || !ok3 {
		return
	}
	all := copyOf(*u)
	for _, s := range *r {
		if !contains(all, s) {
			all = append(all, s)
		}
	}
	*o = all
}

// subset takes what both lists have, in the user's order.
func subset(why string) meeting {
	return func(m *meet, key string, user, repo, out any) {
		u, ok := user.(*[]string)
		r, ok2 := repo.(*[]string)
		o, ok3 := out.(*[]string)
		if !ok || !ok2 || !ok3 {
			return
		}
		*o = both(*u, *r)
		if more := minus(*r, *u); len(more) > 0 {
			m.wider(Widening{Key: key, Have: textOf(user), Want: listText(more), Why: why})
		}
	}
}

// included takes the patterns that both have. The rest may be trusted: they
// bring in files of this repository only, and those that look like secrets stay
// out in any case.
func included(m *meet, key string, user, repo, out any) {
	u, ok := user.(*Choice)
	r, ok2 := repo.(*Choice)
	o, ok3 := out.(*Choice)
	if !ok || !ok2 || !ok3 || u.Word == r.Word && sameSet(u.List, r.List) {
		return
	}
	none := Choice{Word: "none"}
	more := minus(r.List, u.List)
	wider := r.Word != "none" && (r.Word == "auto" || len(more) > 0)
	*o = none
	if shared := both(u.List, r.List); len(shared) > 0 {
		*o = Choice{List: shared}
	}
	if wider && m.wider(Widening{
		Key: key, Have: textOf(user), Want: textOf(repo), Trustable: true,
		Why: "files of this repository that git ignores go in; those that look like secrets do not",
	}) {
		*o = Choice{Word: r.Word, List: copyOf(r.List)}
	}
}

// toolchainsMeet: "none" is narrower than all; "auto" and a list can't be
// compared, so that the user's stands. A repository lists no host paths.
func toolchainsMeet(m *meet, key string, user, repo, out any) {
	u, ok := user.(*Choice)
	r, ok2 := repo.(*Choice)
	o, ok3 := out.(*Choice)
	if !ok || !ok2 || !ok3 || u.Word == r.Word && sameSet(u.List, r.List) {
		return
	}
	if r.Word == "none" {
		*o = Choice{Word: "none"}
		return
	}
	w := Widening{Key: key, Have: textOf(user), Want: textOf(repo), Why: "host paths are yours to show"}
	if r.Word == "auto" && u.Word == "none" {
		w.Trustable, w.Why = true, "the toolchains that your PATH points at go in, read-only"
	}
	if m.wider(w) {
		*o = Choice{Word: r.Word}
	}
}

// least takes the smaller of two limits; 0 is none, the widest. A larger one
// may be trusted, since the user sees the number; no limit at all never.
func least(m *meet, key string, user, repo, out any) {
	u, r := number(user), number(repo)
	switch {
	case u == r:
	case u == 0 || r != 0 && r < u:
		setNumber(out, r)
	case r == 0:
		m.wider(Widening{Key: key, Have: textOf(user), Want: textOf(repo), Why: "a limit of yours is never taken away"})
	default:
		if m.wider(Widening{Key: key, Have: textOf(user), Want: textOf(repo), Why: "a session here may use more", Trustable: true}) {
			setNumber(out, r)
		}
	}
}

func number(at any) int64 {
	switch v := at.(type) {
	case *int:
		return int64(*v)
	case *Bytes:
		return int64(*v)
	case *time.Duration:
		return int64(*v)
	}
	return 0
}

func setNumber(at any, n int64) {
	switch v := at.(type) {
	case *int:
		*v = int(n)
	case *Bytes:
		*v = Bytes(n)
	case *time.Duration:
		*v = time.Duration(n)
	}
}

// both gives what two lists have in common, in the order of the first.
func both(a, b []string) []string {
	var out []string
	for _, s := range a {
		if contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// minus gives what only the first list has.
func minus(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// String prints a widening on one line.
func (w Widening) String() string {
	return fmt.Sprintf("%s: %s, and you have %s: %s", w.Key, w.Want, w.Have, w.Why)
}
