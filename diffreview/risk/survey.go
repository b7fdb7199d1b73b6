package risk

import (
	"maps"
	"slices"

	"fumehood/diffreview"
)

// survey gathers what rules need to know of the change as a whole.
func (r *run) survey() {
	paths := map[string]bool{}
	r.links = map[string]string{}
	for _, p := range r.env.Paths {
		paths[p] = true
	}
	for p, target := range r.env.Links {
		paths[p] = true
		r.links[p] = target
	}
	for _, s := range r.subjects {
		delete(r.links, s.f.Path)
		switch s.f.New.Kind {
		case diffreview.KindAbsent:
			delete(paths, s.f.Path)
		case diffreview.KindSymlink:
			r.links[s.f.Path] = s.f.New.Target
			paths[s.f.Path] = true
		case diffreview.KindFile:
			paths[s.f.Path] = true
		}
	}
	all := slices.Sorted(maps.Keys(paths))
	r.names = indexNames(all)
	r.repos = repositoryFolders(all)
	r.hidden = r.hiddenByIgnore()
	r.movedTests, r.movedAsserts = r.gather()
}
