package prove

import (
	"slices"
	"testing"

	"fumehood/isolate/egress"
)

// Each check of the proxy is missed by a test when it is left out.
func TestAMissingPartOfTheProxyIsNoticed(t *testing.T) {
	want := map[egress.Part]string{
		egress.PartDestination: "6.proxy-name",
		egress.PartAddress:     "6.leads-to loopback",
		egress.PartNames:       "6.proxy-host",
		egress.PartOperation:   "7.entry 1 upload PUT",
		egress.PartAccount:     "7.entry 1 foreign Authorization Bearer",
		egress.PartOther:       "13.slot (live)",
		egress.PartSearch:      "5.first reflects: body",
	}
	h := ownState(t)
	whole, err := tryMutation(t.Context(), h, "", mutation{name: "nothing", proxy: true, quick: proxyTests})
	if err != nil || len(whole.red) > 0 {
		t.Fatalf("got %v, %v; want nothing to notice with every part in force", whole.red, err)
	}
	for _, p := range egress.Parts() {
		if want[p] == "" {
			t.Errorf("%s: got no attempt that would notice, want one", p)
		}
		got, err := tryMutation(t.Context(), h, "", mutation{name: string(p), proxy: true, omit: p, quick: proxyTest(p)})
		if err != nil || !slices.Contains(got.red, want[p]) {
			t.Errorf("without %s: got %v, %v; want %s among them", p, got.red, err, want[p])
		}
	}
}
