package rule

import "testing"

// The requests of git's smart HTTP protocol (gitprotocol-http), and ways to hide
// a push among what a policy allows.
func TestGitOperations(t *testing.T) {
	const up, rec = "service=git-upload-pack", "service=git-receive-pack"
	fetch, push := []string{"git fetch /team/*"}, []string{"git push /team/project.git"}
	all := []string{"GET /**", "POST /**", "HEAD /**"}
	for _, tt := range []struct {
		name                string
		ops                 []string
		method, path, query string
		want                bool
	}{
		{"fetch asks", fetch, "GET", "/team/project.git/info/refs", up, true},
		{"fetch gets", fetch, "POST", "/team/project.git/git-upload-pack", "", true},
		{"fetch of another", fetch, "GET", "/else/project.git/info/refs", up, false},
		{"fetch with more", fetch, "GET", "/team/project.git/info/refs", up + "&x=1", false},
		{"fetch without service", fetch, "GET", "/team/project.git/info/refs", "", false},
		{"fetch by POST", fetch, "POST", "/team/project.git/info/refs", up, false},
		{"fetch gets with a query", fetch, "POST", "/team/project.git/git-upload-pack", "x", false},
		{"fetch does not push", fetch, "GET", "/team/project.git/info/refs", rec, false},
		{"fetch does not push either", fetch, "POST", "/team/project.git/git-receive-pack", "", false},
		{"fetch is no page", fetch, "GET", "/team/project.git", "", false},

		{"push asks", push, "GET", "/team/project.git/info/refs", rec, true},
		{"push sends", push, "POST", "/team/project.git/git-receive-pack", "", true},
		{"push to another", push, "POST", "/team/other.git/git-receive-pack", "", false},
		{"push does not fetch", push, "GET", "/team/project.git/info/refs", up, false},
		{"push by GET", push, "GET", "/team/project.git/git-receive-pack", "", false},
		{"push, path escaped", push, "POST", "/team/project.git/git%2Dreceive%2Dpack", "", true},
		{"push, another case", push, "POST", "/team/project.git/Git-Receive-Pack", "", false},

		{"all fetches", all, "GET", "/r/info/refs", up, true},
		{"all fetches, dumb", all, "GET", "/r/info/refs", "", true},
		{"all gets", all, "POST", "/r/git-upload-pack", "", true},
		{"all does not push", all, "POST", "/r/git-receive-pack", "", false},
		{"all does not ask to push", all, "GET", "/r/info/refs", rec, false},
		{"path escaped", all, "POST", "/r/git%2Dreceive%2Dpack", "", false},
		{"path escaped twice", all, "POST", "/r/git%252dreceive-pack", "", false},
		{"slash escaped", all, "POST", "/r%2Fgit-receive-pack", "", false},
		{"with parameters", all, "POST", "/r/git-receive-pack;x", "", false},
		{"with a slash behind", all, "POST", "/r/git-receive-pack/", "", false},
		{"twice the slash", all, "POST", "/r//git-receive-pack", "", false},
		{"with a backslash", all, "POST", `/r\git-receive-pack`, "", false},
		{"cut", all, "POST", "/r/git-receive-pack%3Fx", "", false},
		{"compatibility characters", all, "POST", "/r/git-receive-p%EF%BD%81ck", "", false},
		{"another case", all, "POST", "/r/GIT-RECEIVE-PACK", "", false},
		{"service escaped", all, "GET", "/r/info/refs", "service=git%2Dreceive-pack", false},
		{"service escaped twice", all, "GET", "/r/info/refs", "service=git%252Dreceive-pack", false},
		{"name escaped", all, "GET", "/r/info/refs", "s%65rvice=git-receive-pack", false},
		{"name in another case", all, "GET", "/r/info/refs", "Service=git-receive-pack", false},
		{"name with a space", all, "GET", "/r/info/refs", "+service=git-receive-pack", false},
		{"name with an index", all, "GET", "/r/info/refs", "service[]=git-receive-pack", false},
		{"service first", all, "GET", "/r/info/refs", up + "&" + rec, false},
		{"service last", all, "GET", "/r/info/refs", rec + "&" + up, false},
		{"service twice the same", all, "GET", "/r/info/refs", up + "&" + up, false},
		{"service behind a semicolon", all, "GET", "/r/info/refs", "a=1;" + rec, false},
		{"service by another name", all, "GET", "/r/info/refs", "svc=git-receive-pack", false},
		{"service as a name", all, "GET", "/r/info/refs", "git-receive-pack", false},
		{"service elsewhere", all, "GET", "/r/other", rec, false},
		{"odd service", all, "GET", "/r/info/refs", "service=git-upload-archive", false},
		{"empty service", all, "GET", "/r/info/refs", "service=", false},
		{"service without a value", all, "GET", "/r/info/refs", "service", false},
		{"refs escaped", all, "GET", "/r/info%2Frefs", "service=x", false},
		{"another service", all, "GET", "/metadata", "service=x&service=y", true},
		{"a search for the word", all, "GET", "/search", "q=git-receive-pack", true},
		{"a folder of nearly that name", all, "GET", "/doc/receive-pack.html", "", true},

		{"both", append(push, "POST /**"), "POST", "/team/project.git/git-receive-pack", "", true},
		{"both, elsewhere", append(push, "POST /**"), "POST", "/r/git-receive-pack", "", false},
	} {
		table := compileAll(t, Entry{Name: "x", Destination: "a.test:443", Operations: tt.ops})
		got := table.Decide(askAt(t, "a.test:443", tt.method, tt.path, tt.query))
		if (got.Entry != nil) != tt.want || !tt.want && got.Reason != Operation {
			t.Errorf("%s: got %+v, want allowed %v", tt.name, got, tt.want)
		}
	}
}

// A git operation says what its query is; the entry's rule is for the others.
func TestGitOperationsBringTheirQuery(t *testing.T) {
	table := compileAll(t, Entry{Destination: "a.test:443", Operations: []string{"git fetch /r", "GET /x"}, Query: "none"})
	for path, want := range map[[2]string]Reason{
		{"/r/info/refs", "service=git-upload-pack"}: "",
		{"/x", ""}:    "",
		{"/x", "a=1"}: Query,
	} {
		if got := table.Decide(askAt(t, "a.test:443", "GET", path[0], path[1])); got.Reason != want {
			t.Errorf("%v: got %+v, want %q", path, got, want)
		}
	}
	// One reading is git's and another is not: the entry's rule counts.
	table = compileAll(t, Entry{Destination: "a.test:443", Operations: []string{"git fetch /a/b", "GET /a%2F*/info/refs"}, Query: "none"})
	if got := table.Decide(askAt(t, "a.test:443", "GET", "/a%2Fb/info/refs", "service=git-upload-pack")); got.Reason != Query {
		t.Errorf("got %+v, want it refused as %q", got, Query)
	}
}

func TestAQueryThatNamesAnotherMethodIsRefused(t *testing.T) {
	table := compileAll(t, Entry{Name: "x", Destination: "a.test:443", Operations: []string{"GET /**", "POST /**"}})
	for _, query := range []string{
		"_method=DELETE", "a=1&_method=DELETE", "a=1;_method=DELETE", "_METHOD=DELETE", "%5fmethod=DELETE", "%255Fmethod=DELETE", "_method", "_method[]=DELETE",
		".method=DELETE", "%20_method=DELETE", "+_method=DELETE", "[method=DELETE", "_method%00x=DELETE", "_method%5Bx%5D=1", "%09_method=DELETE", "+.method=1&_method=x",
		"X-HTTP-Method-Override=DELETE", "x-http-method-override=DELETE", "X_HTTP_Method=PUT", "X-Method-Override=PUT", "%24httpMethod=DELETE", "$httpMethod=DELETE",
		"_HttpMethod=DELETE", "httpMethod=DELETE", "method=delete", "a=1&Method=%44ELETE", "method=GET", "methodOverride=PUT", "method=+patch",
	} {
		if got := table.Decide(askAt(t, "a.test:443", "POST", "/x", query)); got.Entry != nil || got.Reason != Operation || got.Detail == "" {
			t.Errorf("%q: got %+v, want it refused as %q", query, got, Operation)
		}
	}
	for _, query := range []string{"", "method=x", "method=", "method=post", "method=users.delete", "a=_method", "a_method=1", "_methods=1", "x[_method]=1", "q=a%26_method%3Db"} {
		if got := table.Decide(askAt(t, "a.test:443", "POST", "/x", query)); got.Entry == nil {
			t.Errorf("the control %q: got %+v, want it allowed", query, got)
		}
	}
}

func TestOverridesAreKnownInEverySpelling(t *testing.T) {
	for _, h := range Overrides() {
		if !IsOverride(h) {
			t.Errorf("%s: got false, want true", h)
		}
	}
	for h, want := range map[string]bool{
		"x-http-method-override": true, "X_HTTP_METHOD_OVERRIDE": true, "X-Http_Method": true, "x-original-url": true, "X-Rewrite-URL": true,
		"X_Forwarded_Prefix": true, "X-Forwarded-Uri": true, "Forwarded": true, "x-host": true, "X-HTTP-Host-Override": true, "Host": false, "X-Method": false, "": false,
	} {
		if IsOverride(h) != want {
			t.Errorf("%q: got %v, want %v", h, !want, want)
		}
	}
}
