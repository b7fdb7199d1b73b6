package policy

import "testing"

// FuzzRepository: whatever a repository's policy says, what comes of it is a
// policy that can be in force, it gives no credential that the user's has not,
// and to narrow it again changes nothing.
func FuzzRepository(f *testing.F) {
	user, err := CheckFile("user", []byte("[[network.allow]]\ndestination = \"*.example.test:443\"\noperations = [\"GET /**\", \"PUT /a/*\"]\nmax_upload = \"1MiB\"\n"+anEntry+aCred+"[filesystem]\ninclude = [\"a\"]\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(anEntry))
	f.Add([]byte(with(with(anEntry, "operations", `["GET /a/*", "PUT /**"]`), "destination", `"*.a.example.test:443"`)))
	f.Add([]byte("[network]\nallow = []\n[limits]\ncpus = 1\nmemory = \"none\"\n"))
	f.Add([]byte("[filesystem]\ninclude = [\"a\", \"b\"]\ntoolchains = \"none\"\nhistory = \"all\"\n"))
	f.Add([]byte(EncodeEntry(Allow{Destination: "b.example.test:443", Operations: []string{"CONNECT"}})))
	f.Fuzz(func(t *testing.T, src []byte) {
		repo, err := ParseRepository("r", src, user)
		if err != nil {
			if repo != nil || len(faultsIn(err)) == 0 {
				t.Fatalf("got %v, %v, want faults and nothing else", repo, err)
			}
			return
		}
		for _, trusted := range []bool{false, true} {
			got, wide := IntersectTrusting(user, repo, func(Widening) bool { return trusted })
			if errs := Check(got); len(errs) > 0 {
				t.Fatalf("what comes out is refused: %v\n%s", errs, Encode(got))
			}
			for _, w := range wide {
				if w.InForce && !w.Trustable || w.Why == "" {
					t.Fatalf("got %+v in force", w)
				}
			}
			for _, c := range got.Credentials {
				if mine, ok := user.Credential(c.Name); !ok || mine != c {
					t.Fatalf("got the credential %+v, which the user has not", c)
				}
			}
			for _, a := range got.Network.Allow {
				left := maxSpent
				if found, why := withinUser(user.Network.Allow, a, 0, &left); a.named() && (why != "" || len(found) == 0) {
					t.Fatalf("%s goes beyond the user's: %s", entryText(a), why)
				}
			}
			if again, wide := Intersect(user, got); !trusted && (len(wide) > 0 || string(Encode(again)) != string(Encode(got))) {
				t.Fatalf("narrowed again: %v\n%s\nwant\n%s", wide, Encode(again), Encode(got))
			}
		}
	})
}
