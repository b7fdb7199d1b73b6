package account

import (
	"encoding/base64"
	"fmt"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const (
	ours    = "sk-ant-api03-0ur5placeh0lderXXXXXXXXXXXXXXXX-AA"
	foreign = "sk-ant-api03-f0re1gnXXXXXXXXXXXXXXXXXXXXXXXX-AA"
)

var mine = []Account{
	{Name: "model", Attach: Attach{Header: "X-Api-Key", value: secretMark}, Placeholder: ours},
	{Name: "odd", Attach: Attach{Header: "X-Odd", value: secretMark}, Placeholder: "pk_0dd0dd0dd0dd0dd0dd0dd"},
	{Name: "query", Attach: Attach{Query: "q9", value: secretMark}, Placeholder: "qq_0dd0dd0dd0dd0dd0dd0dd"},
}

func basicOf(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }

// brief writes what was found in one line: slot, whose, and the value.
func brief(found []Found) string {
	var out []string
	for _, f := range found {
		out = append(out, f.Slot+"="+f.Account+":"+f.Value)
	}
	return strings.Join(out, " | ")
}

func TestLookFindsCredentialsInEverySlot(t *testing.T) {
	type header = map[string][]string
	for _, row := range []struct {
		name   string
		header header
		query  string
		want   string
	}{
		{"none", header{"Accept": {"*/*"}, "User-Agent": {"x"}}, "beta=true&q=words", ""},
		{"bearer, ours", header{"Authorization": {"Bearer " + ours}}, "", "header Authorization=model:" + ours},
		{"bearer, foreign", header{"Authorization": {"Bearer " + foreign}}, "", "header Authorization=:" + foreign},
		{"token", header{"Authorization": {"token " + foreign}}, "", "header Authorization=:" + foreign},
		{"no scheme", header{"Authorization": {foreign}}, "", "header Authorization=:" + foreign},
		{"unknown scheme", header{"Authorization": {"Frob  " + foreign}}, "", "header Authorization=:" + foreign},
		{"basic, password ours", header{"Authorization": {basicOf("x-access-token:" + ours)}}, "", "header Authorization=model:" + ours},
		{"basic, user ours", header{"Authorization": {basicOf(ours + ":")}}, "", "header Authorization=model:" + ours},
		{"basic, user foreign", header{"Authorization": {basicOf(foreign + ":")}}, "", "header Authorization=:" + foreign},
		{"basic, foreign", header{"Authorization": {basicOf("me:" + foreign)}}, "", "header Authorization=:" + foreign},
		{"basic that is none", header{"Authorization": {"Basic %%%"}}, "", "header Authorization=:%%%"},
		{"digest", header{"Authorization": {`Digest username="me", response="0123"`}}, "", `header Authorization=:username="me", response="0123"`},
		{"signed, ours", header{"Authorization": {"AWS4-HMAC-SHA256 Credential=" + ours + "/20261130/r/s3/aws4_request, Signature=00"}}, "", "header Authorization=model:" + ours},
		{"negotiate", header{"Authorization": {"Negotiate YIIabc"}}, "", "header Authorization=:YIIabc"},
		{"a scheme alone", header{"Authorization": {"Bearer "}}, "", ""},
		{"empty", header{"Authorization": {" "}, "X-Api-Key": {""}}, "", ""},
		{"two values", header{"X-Api-Key": {ours, foreign}}, "", "header X-Api-Key=model:" + ours + " | header X-Api-Key=:" + foreign},
		{"for the proxy", header{"Proxy-Authorization": {basicOf("u:" + foreign)}}, "", "header Proxy-Authorization=:" + foreign},
		{"any case", header{"x-api-KEY": {foreign}}, "", "header x-api-KEY=:" + foreign},
		{"underscores", header{"X_api_key": {foreign}}, "", "header X_api_key=:" + foreign},
		{"by its look", header{"X-Acme-Secret": {foreign}}, "", "header X-Acme-Secret=:" + foreign},
		{"where an account of ours attaches", header{"X-Odd": {foreign}}, "", "header X-Odd=:" + foreign},
		{"a session", header{"X-Acme-Session": {foreign}}, "", "header X-Acme-Session=:" + foreign},
		{"a session's id that opens it", header{"Vmware-Api-Session-Id": {foreign}}, "", "header Vmware-Api-Session-Id=:" + foreign},
		{"a session's id, for more", header{"X-Auth-Session-Id": {foreign}}, "", "header X-Auth-Session-Id=:" + foreign},
		{"a session's id in a query", nil, "session_id=" + foreign, "query session_id=:" + foreign},
		{"as another user", header{"X-Remote-User": {"root"}}, "", "header X-Remote-User=:root"},
		{"cookies", header{"Cookie": {"a=1; b=" + ours}}, "", "header Cookie=:1 | header Cookie=model:" + ours},
		{"websocket protocol, ours", header{"Sec-Websocket-Protocol": {"realtime, openai-insecure-api-key." + ours}}, "", "header Sec-Websocket-Protocol=model:" + ours},
		{"websocket protocol, foreign", header{"Sec-Websocket-Protocol": {"realtime, openai-insecure-api-key." + foreign}}, "", "header Sec-Websocket-Protocol=:" + foreign},
		{"websocket protocol", header{"Sec-Websocket-Protocol": {"realtime, graphql-ws"}}, "", ""},
		{"query", nil, "key=" + foreign, "query key=:" + foreign},
		{"query, ours", nil, "a=b&key=" + ours, "query key=model:" + ours},
		{"query, escaped name", nil, "%6bey=" + foreign, "query key=:" + foreign},
		{"query, twice escaped name", nil, "%256bey=" + foreign, "query key=:" + foreign},
		{"query, twice", nil, "key=" + ours + "&key=" + foreign, "query key=model:" + ours + " | query key=:" + foreign},
		{"query, semicolon", nil, "a=b;key=" + foreign, "query key=:" + foreign},
		{"query, bad escape", nil, "a=%zz&key=" + foreign + "%", "query key=:" + foreign + "%"},
		{"query, camel case", nil, "accessToken=" + foreign, "query accesstoken=:" + foreign},
		{"query, brackets", nil, "user[password]=hunter22", "query user[password]=:hunter22"},
		{"presigned", nil, "X-Amz-Credential=AK%2F1&X-Amz-Signature=00", "query x-amz-credential=:AK/1 | query x-amz-signature=:00"},
		{"shared access", nil, "sv=2024&sig=00", "query sig=:00"},
		{"where an account of ours attaches, query", nil, "q9=" + foreign, "query q9=:" + foreign},
	} {
		if got := brief(Look(row.header, row.query, mine)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// Wherever one of our placeholders is, it is known whose it is: at a place
// without that account it must not pass.
func TestLookFindsOurPlaceholdersAnywhere(t *testing.T) {
	std := base64.StdEncoding.EncodeToString
	everyByte := func(s string) string {
		var out strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&out, "%%%02x", s[i])
		}
		return out.String()
	}
	f := NewFinder(mine)
	for name, r := range map[string]Request{
		"unknown header":      {Header: map[string][]string{"X-Frob": {"is " + ours + "?"}}},
		"selector":            {Header: map[string][]string{"Chatgpt-Account-Id": {ours}}},
		"cross-site token":    {Header: map[string][]string{"X-Csrf-Token": {ours}}},
		"user agent, base64":  {Header: map[string][]string{"User-Agent": {std([]byte("x" + ours + "y"))}}},
		"referer, escaped":    {Header: map[string][]string{"Referer": {"https://a.test/?x=" + everyByte(ours)}}},
		"unknown parameter":   {Query: "x=" + ours},
		"parameter's name":    {Query: ours + "=1"},
		"parameter, escaped":  {Query: "x=" + everyByte(ours)},
		"parameter, twice":    {Query: "x=" + url.QueryEscape(everyByte(ours))},
		"query without pairs": {Query: ours},
		"path":                {Path: "/bot" + ours + "/send"},
		"path, escaped":       {Path: "/" + everyByte(ours)},
		"path, base64":        {Path: "/" + base64.RawURLEncoding.EncodeToString([]byte("ab"+ours))},
	} {
		got := f.Look(r)
		if len(got) != 1 || got[0].Account != "model" || got[0].Value != ours || strings.Contains(got[0].Slot, ours[14:]) {
			t.Errorf("%s: got %+v, want the placeholder of model", name, got)
		}
	}
}

func TestLookKnowsWhatOnlyLooksLikeACredential(t *testing.T) {
	for _, name := range []string{
		"Accept", "Anthropic-Beta", "Anthropic-Version", "X-Stainless-Retry-Count", "Chatgpt-Account-Id", "Openai-Organization", "X-Csrf-Token",
		"Session_id", "Conversation_id", "Mcp-Session-Id", "Npm-Session", "Npm-Auth-Type", "Npm-Command", "Sec-Websocket-Key", "Idempotency-Key",
		"X-Dashscope-Authtype", "X-Goog-User-Project", "X-Goog-Api-Client", "X-Amz-Date", "X-Amz-Content-Sha256", "Copilot-Integration-Id", "X-Opencode-Session",
		"X-Max-Tokens", "X-Author", "Git-Protocol", "X-Auth-Email",
		"X-Session-Id", "X-Parent-Session-Id", "X-Claude-Code-Session-Id", "Vscode-Sessionid", "X-Session-Affinity", "Originator",
	} {
		if got := Look(map[string][]string{name: {"something"}}, "", mine); len(got) != 0 {
			t.Errorf("header %s: got %+v, want nothing", name, got)
		}
	}
	for _, q := range []string{"beta=true", "page_token=x", "pageToken=x", "continuation-token=x", "max_tokens=1", "startkey=a", "keyword=x", "monkey=1", "author=me", "alt=sse", "client_id=1"} {
		if got := Look(nil, q, mine); len(got) != 0 {
			t.Errorf("query %s: got %+v, want nothing", q, got)
		}
	}
}

func TestLookKnowsTheNamesOfManyServices(t *testing.T) {
	for _, name := range strings.Fields(`X-ApiKeys X-Apikeys X-ClickHouse-Key X-Honeycomb-Team Fastly-Key X-Appwrite-Key X-Insert-Key X-Query-Key X-Aio-Key Modal-Key
		X-Gotify-Key X-Mashape-Key Grpc-Metadata-Macaroon X-Key Key X-Tokens X-Secrets X-Api-Key2 X-Apikeyv2 X-Appkey Appkey X-Client-Key X-Write-Key X-PAT
		X-Consumer-Key X-Real-User X-User X-Username X-Forwarded-Preferred-Username X-Forwarded-Groups X-Remote-Group X-MS-CLIENT-PRINCIPAL-ID Ssl-Client-Cert
		X-SSL-Cert X-SSL-Client-Verify X-Forwarded-Tls-Client-Cert`) {
		if got := Look(map[string][]string{name: {foreign}}, "", mine); len(got) != 1 {
			t.Errorf("header %s: got %+v, want it found", name, got)
		}
	}
	for _, name := range strings.Fields(`appid code appkey secretkey authkey userkey skey apikeys apikey2 api_key_v2 tokens client_key write_key oauth_signature sas userToken2`) {
		if got := Look(nil, name+"="+foreign, mine); len(got) != 1 {
			t.Errorf("query %s: got %+v, want it found", name, got)
		}
	}
	for _, q := range []string{"code=DE", "appid=570", "maxTokens=5", "max_new_tokens=5", "sort_key=a", "v2=1", "sessions=2", "auth0=1"} {
		if got := Look(nil, q, mine); len(got) != 0 {
			t.Errorf("query %s: got %+v, want nothing", q, got)
		}
	}
	for _, name := range []string{"Surrogate-Key", "X-Idempotency-Key", "Sec-WebSocket-Key", "X-Cache-Key", "Auth0-Client"} {
		if got := Look(map[string][]string{name: {"x"}}, "", mine); len(got) != 0 {
			t.Errorf("header %s: got %+v, want nothing", name, got)
		}
	}
}

func TestLookFindsTheReadingsOfAValue(t *testing.T) {
	for value, want := range map[string][]string{
		"Bearer abc":            {"Bearer abc", "abc"},
		basicOf("me:abc"):       {basicOf("me:abc"), basicOf("me:abc")[6:], "me", "abc"},
		"AWS4 Credential=abc/1": {"AWS4 Credential=abc/1", "abc/1", "abc", "Credential=abc/1"},
		"abc":                   {"abc"},
	} {
		got := Look(map[string][]string{"Authorization": {value}}, "", nil)
		if len(got) != 1 || !slices.Equal(got[0].Readings, want) {
			t.Errorf("%q: got %+v, want the readings %q", value, got, want)
		}
	}
}

func TestLookFindsTrailersAndPathParameters(t *testing.T) {
	f := NewFinder(mine)
	for want, r := range map[string]Request{
		"trailer Authorization=:":  {Trailer: map[string][]string{"Authorization": nil, "X-Checksum": nil}},
		"path jsessionid=:0123abc": {Path: "/a;jsessionid=0123abc/b"},
		"":                         {Path: "/a;v=1/b;param", Trailer: map[string][]string{"Grpc-Status": nil}},
	} {
		if got := brief(f.Look(r)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A slot's name in a record is ours, or a name; what stood in it never is.
func TestSlotsCarryNothingFromInside(t *testing.T) {
	long := strings.Repeat("x", 200) + "-token"
	for _, f := range Look(map[string][]string{long: {foreign}, "X-\x1b[31m-Secret": {foreign}}, url.QueryEscape("a\nb token")+"="+foreign, mine) {
		if len(f.Slot) > 60 || strings.ContainsAny(f.Slot, "\x1b\n") || strings.Contains(f.Slot, foreign) {
			t.Errorf("got the slot %q, want a short and plain one", f.Slot)
		}
	}
}

func TestStripLeavesNoCredentialBehind(t *testing.T) {
	header := map[string][]string{"Accept": {"*/*"}, "Chatgpt-Account-Id": {"1"}, "Sec-Websocket-Protocol": {"realtime, openai-insecure-api-key.x"}}
	for _, name := range keyHeaders {
		header[textproto.CanonicalMIMEHeaderKey(name)] = []string{foreign}
		header[strings.ReplaceAll(strings.ToLower(name), "-", "_")] = []string{foreign}
	}
	query := "a=1&key=x;token=y&b=%zz&%74oken=z&&c&X-Amz-Signature=0&page_token=2"
	got := Strip(header, query)
	if want := "a=1&b=%zz&c&page_token=2"; got != want {
		t.Errorf("got the query %q, want %q", got, want)
	}
	if len(header) != 2 || Look(header, got, nil) != nil {
		t.Errorf("got %v, want Accept and Chatgpt-Account-Id alone", header)
	}
}

func TestStripButLeavesWhatIsNamed(t *testing.T) {
	header := map[string][]string{"Cookie": {"a=1"}, "X-Api-Key": {"x"}}
	got := StripBut(header, "sig=1&key=2", "header Cookie", "query sig")
	if len(header) != 1 || header["Cookie"] == nil || got != "sig=1" {
		t.Errorf("got %v and %q, want the cookie and sig alone", header, got)
	}
}

// Connection can have the attached header dropped on the way.
func TestTidyKeepsHeadersFromActingOnOthers(t *testing.T) {
	header := map[string][]string{"Connection": {"keep-alive, Authorization", "upgrade"}, "Trailer": {"Authorization"}, "Keep-Alive": {"1"}, "Te": {"trailers"}, "Upgrade": {"websocket"}}
	Tidy(header)
	if len(header) != 3 || !slices.Equal(header["Connection"], []string{"Upgrade"}) {
		t.Errorf("got %v, want Connection: Upgrade, Te and Upgrade", header)
	}
	header = map[string][]string{"connection": {"x-api-key"}}
	if Tidy(header); len(header) != 0 {
		t.Errorf("got %v, want nothing", header)
	}
}

func BenchmarkLook(b *testing.B) {
	f := NewFinder(mine)
	r := Request{Path: "/v1/messages", Query: "beta=true", Header: map[string][]string{"X-Api-Key": {ours}}}
	for _, name := range []string{"Accept", "User-Agent", "Anthropic-Beta", "Anthropic-Version", "X-Stainless-Lang", "X-Stainless-Os", "X-App", "Content-Type", "Accept-Encoding", "Connection"} {
		r.Header[name] = []string{"claude-cli/2.1.197 (external, cli) interleaved-thinking"}
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(f.Look(r)) != 1 {
			b.Fatal("nothing found")
		}
	}
}

func FuzzLookAndStripAgree(f *testing.F) {
	f.Add("X-Api-Key", "a", "key=1;b=%6b")
	f.Add("Sec-Websocket-Protocol", "a.token.b, c", "a=b&&=&;")
	f.Fuzz(func(t *testing.T, name, value, query string) {
		header := map[string][]string{name: {value}}
		stripped := Strip(header, query)
		if found := Look(header, stripped, nil); len(found) > 0 {
			t.Fatalf("got %+v left of %q: %q and %q, want nothing", found, name, value, query)
		}
	})
}
