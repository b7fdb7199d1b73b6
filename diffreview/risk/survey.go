package risk

import (
	"maps"
	"slices"

	"fumehood/diffreview"
)

// changes is what rules need to know of the change as a whole.
type changes struct {
	subjects []*subject
	names    nameIndex
	links    map[string]string  // after the change
	repos    map[string]bool    // folders that git would take for a repository
	hidden   map[string]bool    // changed paths that a changed ignore file hides
	hides    map[*subject][]hit // what is said of the lines that do it
	// lines of tests that go away in one file and come in another
	movedTests, movedAsserts movedLines
}

func survey(subjects []*subject, env *Env) *changes {
	c := &changes{subjects: subjects, links: map[string]string{}}
	paths := make(map[string]bool, len(env.Paths)+len(subjects))
	for _, p := range env.Paths {
		paths[p] = true
	}
	for p, target := range env.Links {
		paths[p] = true
		c.links[p] = target
	}
	for _, s := range subjects {
		delete(c.links, s.f.Path)
		switch s.f.New.Kind {
		case diffreview.KindAbsent:
			delete(paths, s.f.Path)
		case diffreview.KindSymlink:
			c.links[s.f.Path] = s.f.New.Target
			paths[s.f.Path] = true
		case diffreview.KindFile:
			paths[s.f.Path] = true
		}
	}
	all := slices.Collect(maps.Keys(paths))
	c.names = indexNames(all, subjects)
	c.repos = repositoryFolders(all)
	c.hideByIgnore()
	c.movedTests = moved(subjects, func(s *subject) *turnover { return &s.tests })
	c.movedAsserts = moved(subjects, func(s *subject) *turnover { return &s.asserts })
	return c
}
