package account

import (
	"strings"
	"sync"
)

// keyHeaders are headers that carry a credential, or that say to a server which
// trusts them who is asking.
var keyHeaders = strings.Fields(`
	Authorization Proxy-Authorization Cookie Cookie2
	X-Api-Key X-Goog-Api-Key Api-Key ApiKey X-Auth-Token X-Auth-Key X-Amz-Security-Token X-Access-Token X-Github-Token
	Private-Token Job-Token Deploy-Token X-Gitlab-Token X-Vault-Token X-Consul-Token X-Nomad-Token X-Figma-Token
	X-Registry-Auth X-Npm-Auth X-Jfrog-Art-Api X-Nuget-ApiKey X-Ms-Authorization-Auxiliary Ocp-Apim-Subscription-Key X-Functions-Key
	X-Metabase-Session Vmware-Api-Session-Id JSessionId PhpSessId X-Github-Otp Npm-Otp DPoP DD-Api-Key DD-Application-Key
	Client-Cert Client-Cert-Chain X-Client-Cert X-SSL-Client-Cert X-Forwarded-Client-Cert
	X-Honeycomb-Team X-Pat X-Passcode X-AppKey AppKey X-ClientKey X-ApiKeys
	Ssl-Client-Cert Ssl-Cert X-SSL-Cert X-SSL-Client-Verify X-Client-Verify Ssl-Client-Verify X-SSL-Client-S-DN X-Forwarded-Tls-Client-Cert
	X-Real-User X-User X-Username X-Auth-User Auth-User X-Forwarded-Preferred-Username X-Forwarded-Groups X-Remote-Group X-Remote-Groups
	X-Ms-Client-Principal-Id X-Ms-Client-Principal-Name
	Remote-User X-Remote-User X-Forwarded-User X-Forwarded-Email X-Webauth-User X-Authenticated-User X-Goog-Authenticated-User-Email
	X-Ms-Client-Principal Impersonate-User Impersonate-Group X-On-Behalf-Of Sudo`)

// plainHeaders have a name like a credential's and are none: cross-site tokens,
// which a cookie has to stand beside, and names that a tool gives its own run.
// A name that ends in "session id" is such a one too, whatever is before it:
// every tool that talks to a model sends another, and an id opens nothing at
// the places where it is not listed above.
var plainHeaders = strings.Fields(`
	X-Csrf-Token X-Xsrf-Token Csrf-Token Xsrf-Token X-CsrfToken
	X-Opencode-Session X-Session-Affinity Npm-Session Npm-Auth-Type X-Dashscope-AuthType`)

// selectors say which of its accounts a credential is used for. They open
// nothing without it, and clients can't do without them: they pass, and what
// the attached credential may choose is the account's own affair. They are
// listed so that no pattern takes them for credentials.
var selectors = strings.Fields(`
	Chatgpt-Account-Id OpenAI-Organization OpenAI-Project Anthropic-Organization-Id X-Goog-User-Project X-Goog-AuthUser X-Auth-Email X-Ms-Tenant-Id`)

// keyParams are query parameters that carry a credential; those of presigned
// URLs are what makes such a URL one.
var keyParams = strings.Fields(`
	key sig signature sid pass pwd jwt otp hmac ticket assertion auth sudo
	X-Amz-Signature X-Amz-Credential X-Amz-Security-Token AWSAccessKeyId X-Goog-Signature X-Goog-Credential GoogleAccessId
	X-Oss-Signature X-Oss-Credential OSSAccessKeyId q-signature q-ak Key-Pair-Id jsessionid phpsessid aspsessionid sessid
	oauth_verifier oauth_signature code_verifier skoid sas skey`)

// longParams carry a credential when what stands there is as long as one: "code"
// opens an Azure function and is a country elsewhere, "appid" is OpenWeather's
// key and many a number.
var longParams = strings.Fields("code appid")

const longValue = 20

func longParam(name, value string) bool {
	return len(value) >= longValue && oneOf(longParams, strings.ToLower(name))
}

// plainParams are places in a list, and what selectors and plainHeaders are.
var plainParams = strings.Fields(`
	page_token next_token next_page_token continuation_token continue_token sync_token start_token next_sync_token cursor_token
	csrf_token xsrf_token csrfmiddlewaretoken authuser auth_type token_type token_type_hint grant_type`)

// keyWords make a name a credential's wherever they stand in it.
var keyWords = strings.Fields(`
	token secret password passwd passphrase auth authorization authentication credential jwt bearer session cookie
	apikey accesskey privatekey macaroon`)

// keyEnds do at the end of a word, for names without separators.
var keyEnds = strings.Fields(`token secret password passwd apikey accesskey sessionid authorization credential
	secretkey appkey authkey userkey clientkey writekey consumerkey`)

// keysOf are what makes a "key" after it one that opens something.
var keysOf = strings.Fields(`api access private app application auth account master admin function functions subscription license shared ssh user service client write
	consumer secret`)

// plainKeys make a header's last word "key" one that opens nothing. After every
// other word, or alone, it is taken for one that does: each service has a name
// of its own for it.
var plainKeys = strings.Fields(`idempotency websocket socket surrogate cache partition routing sort dedup deduplication public affinity shard sharding
	group grouping message object correlation event`)

// counted are what makes "tokens" after it a number of them.
var counted = strings.Fields("max min num n count new output input completion prompt total remaining limit budget thinking used response")

type names struct {
	key, plain map[string]bool
	header     bool // a session's id is no credential, and any key may be
}

var headerNames = sync.OnceValue(func() names {
	return names{squashed(keyHeaders), squashed(append(append([]string{}, plainHeaders...), selectors...)), true}
})

var paramNames = sync.OnceValue(func() names { return names{squashed(keyParams), squashed(plainParams), false} })

func squashed(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[strings.Join(words(s), "")] = true
	}
	return out
}

// carries says that a name is a credential's: it is listed, or looks like it.
// The tables compare without separators, since servers take X-Api-Key,
// x_api_key and xApiKey for one.
func (n names) carries(name string) bool {
	w := words(name)
	switch one := strings.Join(w, ""); {
	case n.key[one]:
		return true
	case n.plain[one]:
		return false
	}
	if n.header {
		w = withoutID(w)
		if last := len(w) - 1; last >= 0 && single(w[last]) == "key" && (last == 0 || !oneOf(plainKeys, w[last-1])) {
			return true
		}
	}
	return credential(w)
}

// withoutID takes "session id" off the end of a name.
func withoutID(words []string) []string {
	switch n := len(words); {
	case n > 0 && words[n-1] == "sessionid":
		return words[:n-1]
	case n > 1 && words[n-2] == "session" && words[n-1] == "id":
		return words[:n-2]
	}
	return words
}

func credential(words []string) bool {
	for i, w := range words {
		if w == "tokens" && i > 0 && oneOf(counted, words[i-1]) {
			continue
		}
		w = single(w)
		if oneOf(keyWords, w) || w == "key" && i > 0 && oneOf(keysOf, words[i-1]) || endsInKey(w) {
			return true
		}
	}
	return false
}

func endsInKey(w string) bool {
	for _, end := range keyEnds {
		if strings.HasSuffix(w, end) {
			return true
		}
	}
	return false
}

// single takes a version and the plural off a word that is a key's without them:
// apikeys, key2, apikeyv2.
func single(w string) string {
	short := strings.TrimRight(w, "0123456789")
	if short != w {
		short = strings.TrimSuffix(short, "v")
	}
	short = strings.TrimSuffix(short, "s")
	if short == "key" || endsInKey(short) {
		return short
	}
	return w
}

// words are those of a name, in lower case: parted by anything that is neither
// letter nor digit, and before a capital after a small letter.
func words(name string) []string {
	var out []string
	begin, last := 0, byte(0)
	take := func(end int) {
		if end > begin {
			out = append(out, strings.ToLower(name[begin:end]))
		}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case !alnum(rune(c)) && c < 0x80:
			take(i)
			begin = i + 1
		case c >= 'A' && c <= 'Z' && last >= 'a' && last <= 'z':
			take(i)
			begin = i
		}
		last = c
	}
	take(len(name))
	return out
}

func oneOf(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
