package risk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fumehood/diffreview"
)

// BenchmarkLargeReview is the cost of what an agent's day can leave behind: 5,000
// files of several languages with 500,000 changed lines.
func BenchmarkLargeReview(b *testing.B) {
	src := largeReview(5000, 100)
	cs, err := diffreview.Build(context.Background(), src, diffreview.Options{})
	if err != nil {
		b.Fatal(err)
	}
	env := Env{}
	for i := range 5000 {
		env.Paths = append(env.Paths, fmt.Sprintf("lib%d/other/deep/kept_%d.go", i%70, i))
	}
	lines := 0
	for i := range cs.Files {
		lines += cs.Files[i].Added + cs.Files[i].Removed
	}
	rules()
	b.ReportAllocs()
	for b.Loop() {
		if err := Run(cs, func(x diffreview.Blob) ([]byte, error) { return src.Content(x, 1<<30) }, env); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(lines), "ns/line")
}

// bodies are ordinary sources by their ending; %d keeps the lines apart.
var bodies = map[string]string{
	".go":  "// Read%[1]d reads the file below root, at most limit bytes of it.\nfunc Read%[1]d(ctx context.Context, path string) ([]byte, error) {\n\tif err := check(ctx, path); err != nil {\n\t\treturn nil, fmt.Errorf(\"check %%q: %%w\", path, err)\n\t}\n\treturn os.ReadFile(path) // %[1]d\n}\n\n",
	".ts":  "export async function load%[1]d(id: string): Promise<User> {\n  const response = await client.get(`/users/${id}?page=%[1]d`);\n  if (!response.ok) {\n    throw new Error(`could not load user ${id}`);\n  }\n  return parseUser(response.body);\n}\n\n",
	".py":  "def handle_%[1]d(request, session):\n    \"\"\"Answer one request of kind %[1]d.\"\"\"\n    rows = session.query(User).filter(User.id == request.args[\"id\"]).all()\n    if not rows:\n        raise NotFound(f\"no user {request.args['id']}\")\n    return jsonify([row.as_dict() for row in rows])\n\n\n",
	".rs":  "/// Parses part %[1]d of the header.\npub fn parse_%[1]d(input: &[u8]) -> Result<Header, ParseError> {\n    let (rest, version) = take_u16(input)?;\n    if version != %[1]d {\n        return Err(ParseError::Version { got: version });\n    }\n    Ok(Header { version, body: rest.to_vec() })\n}\n",
	".css": ".panel-%[1]d {\n  display: flex;\n  align-items: center;\n  border: 1px solid rgba(0, 0, 0, 0.15);\n  padding: 0.5rem 1rem;\n}\n\n.panel-%[1]d > .title { font-weight: 600; }\n",
}

func largeReview(files, lines int) *memSource {
	src := &memSource{old: tree{}, new: tree{}, blobs: map[diffreview.Blob][]byte{}}
	exts := []string{".go", ".ts", ".py", ".rs", ".css"}
	for i := range files {
		ext := exts[i%len(exts)]
		var old, text strings.Builder
		for n := 0; n < lines; n += 8 {
			fmt.Fprintf(&text, bodies[ext], i*1000+n)
			if i%2 == 0 && n > lines/2 {
				fmt.Fprintf(&old, bodies[ext], i*1000+n+500)
			}
		}
		name := fmt.Sprintf("lib%d/part%d/file_%d%s", i%70, i%11, i, ext)
		src.new[name] = node{data: text.String()}
		if i%2 == 0 {
			src.old[name] = node{data: old.String()}
		}
	}
	return src
}
