package isolate

import "slices"

// SystemPlaces lists what of the host appears in every sandbox, whatever its
// policy, as "host -> inside", sorted.
func SystemPlaces() ([]string, error) {
	h, err := lookHost()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range h.Top {
		if e.Link != "" {
			out = append(out, "link to "+e.Link+" -> /"+e.Name)
			continue
		}
		out = append(out, "/"+e.Name+" -> /"+e.Name)
	}
	for _, e := range append(slices.Clone(h.EtcFiles), h.EtcFolders...) {
		out = append(out, "/etc/"+e.Name+" -> /etc/"+e.Name)
	}
	slices.Sort(out)
	return out, nil
}
