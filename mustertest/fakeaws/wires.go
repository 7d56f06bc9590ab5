package fakeaws

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// queryWire is the Query protocol: a form in, XML out.
type queryWire struct{}

func (queryWire) request(r *http.Request, body []byte) (string, tree, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil, fmt.Errorf("the body is no form: %w", err)
	}
	for k, v := range r.URL.Query() {
		form[k] = v
	}
	action := form.Get("Action")
	form.Del("Action")
	form.Del("Version")
	root := tree{}
	for _, key := range sortedKeys(form) {
		if err := plant(root, strings.Split(key, "."), form.Get(key)); err != nil {
			return action, nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	gathered, _ := gather(root).(tree)
	return action, gathered, nil
}

// maxDepth is how deep the members of a request may be nested.
const maxDepth = 16

// plant puts a value at a path.
func plant(at tree, path []string, value string) error {
	if len(path) > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	for _, name := range path[:len(path)-1] {
		next, ok := at[name].(tree)
		if !ok {
			next = tree{}
			at[name] = next
		}
		at = next
	}
	at[path[len(path)-1]] = value
	return nil
}

// gather makes lists of what is numbered below member, in the order of the numbers.
func gather(v any) any {
	t, ok := v.(tree)
	if !ok {
		return v
	}
	if numbered, ok := t["member"].(tree); ok && len(t) == 1 {
		keys := sortedKeys(numbered)
		slices.SortFunc(keys, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		})
		all := make([]any, len(keys))
		for k, key := range keys {
			all[k] = gather(numbered[key])
		}
		return all
	}
	for k, x := range t {
		t[k] = gather(x)
	}
	return t
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// namespace is that of a service's XML.
func namespace(s account.API) string {
	if s == account.CloudWatchService {
		return "http://monitoring.amazonaws.com/doc/2010-08-01/"
	}
	return "http://autoscaling.amazonaws.com/doc/2011-01-01/"
}

func (queryWire) answer(w http.ResponseWriter, c call, result any) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<%sResponse xmlns=%q><%sResult>", c.action, namespace(c.service), c.action)
	writeXML(&b, render(reflect.ValueOf(result)))
	fmt.Fprintf(&b, "</%sResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>", c.action,
		c.id, c.action)
	send(w, http.StatusOK, "text/xml", b.Bytes())
}

func (queryWire) refuse(w http.ResponseWriter, c call, f *account.Fault) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<ErrorResponse xmlns=%q><Error><Type>%s</Type><Code>", namespace(c.service), blame(f))
	writeXML(&b, f.Code)
	b.WriteString("</Code><Message>")
	writeXML(&b, f.Message)
	fmt.Fprintf(&b, "</Message></Error><RequestId>%s</RequestId></ErrorResponse>", c.id)
	send(w, f.Status, "text/xml", b.Bytes())
}

// writeXML writes a value; a bytes.Buffer takes everything.
func writeXML(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case []field:
		for _, f := range v {
			b.WriteString("<" + f.name + ">")
			writeXML(b, f.value)
			b.WriteString("</" + f.name + ">")
		}
	case []any:
		for _, x := range v {
			b.WriteString("<member>")
			writeXML(b, x)
			b.WriteString("</member>")
		}
	case pairs:
		for _, f := range v {
			b.WriteString("<entry><key>")
			writeXML(b, f.name)
			b.WriteString("</key><value>")
			writeXML(b, f.value)
			b.WriteString("</value></entry>")
		}
	case time.Time:
		b.WriteString(v.UTC().Format("2006-01-02T15:04:05.000Z"))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		_ = xml.EscapeText(b, []byte(v))
	default:
		fmt.Fprint(b, v)
	}
}

// jsonWire is AWS JSON 1.0 and 1.1; the names of ECS begin with a small letter.
type jsonWire struct{ camel bool }

func (jsonWire) request(r *http.Request, body []byte) (string, tree, error) {
	target := r.Header.Get("X-Amz-Target")
	action := target[strings.LastIndexByte(target, '.')+1:]
	if prefix := strings.TrimSuffix(target, "."+action); !slices.Contains([]string{"AmazonEC2ContainerServiceV20141113",
		"AnyScaleFrontendService", "AmazonSQS", "GraniteServiceVersion20100801"}, prefix) {
		return target, nil, nil
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return action, tree{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return action, nil, fmt.Errorf("the body is no JSON object: %w", err)
	}
	t, _ := toTree(members).(tree)
	return action, t, nil
}

func toTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		t := tree{}
		for k, x := range v {
			t[k] = toTree(x)
		}
		return t
	case []any:
		for k, x := range v {
			v[k] = toTree(x)
		}
	}
	return v
}

// mediaType is that of a service's JSON.
func mediaType(s account.API) string {
	if s == account.SQSService || s == account.CloudWatchService {
		return "application/x-amz-json-1.0"
	}
	return "application/x-amz-json-1.1"
}

func (j jsonWire) answer(w http.ResponseWriter, c call, result any) {
	var b bytes.Buffer
	j.write(&b, render(reflect.ValueOf(result)))
	send(w, http.StatusOK, mediaType(c.service), b.Bytes())
}

func (j jsonWire) refuse(w http.ResponseWriter, c call, f *account.Fault) {
	tell(w, f)
	var b bytes.Buffer
	j.write(&b, pairs{{"__type", shape(c.service, f.Code)}, {"message", f.Message}})
	send(w, f.Status, mediaType(c.service), b.Bytes())
}

func (j jsonWire) write(b *bytes.Buffer, v any) {
	object := func(all []field, name func(string) string) {
		b.WriteByte('{')
		for k, f := range all {
			if k > 0 {
				b.WriteByte(',')
			}
			j.write(b, name(f.name))
			b.WriteByte(':')
			j.write(b, f.value)
		}
		b.WriteByte('}')
	}
	switch v := v.(type) {
	case []field:
		object(v, j.name)
	case pairs:
		object(v, func(n string) string { return n })
	case []any:
		b.WriteByte('[')
		for k, x := range v {
			if k > 0 {
				b.WriteByte(',')
			}
			j.write(b, x)
		}
		b.WriteByte(']')
	case time.Time:
		b.WriteString(strconv.FormatFloat(float64(v.UnixMilli())/1e3, 'f', 3, 64))
	default:
		if encoded, err := json.Marshal(v); err == nil { // text, numbers and truth values always have an encoding
			b.Write(encoded)
		}
	}
}

func (j jsonWire) name(n string) string {
	if !j.camel {
		return n
	}
	return string(unicode.ToLower(rune(n[0]))) + n[1:]
}

// cborWire is Smithy RPC v2 CBOR.
type cborWire struct{}

func (cborWire) request(r *http.Request, body []byte) (string, tree, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // service, name, operation, action
	if len(parts) != 4 || parts[0] != "service" || parts[1] != "GraniteServiceVersion20100801" ||
		parts[2] != "operation" {
		return r.URL.Path, nil, nil
	}
	if len(body) == 0 {
		return parts[3], tree{}, nil
	}
	v, err := cbor.Decode(body)
	if err != nil {
		return parts[3], nil, fmt.Errorf("the body is no CBOR: %w", err)
	}
	members, ok := fromCBOR(v).(tree)
	if !ok {
		return parts[3], nil, fmt.Errorf("the body is no CBOR map")
	}
	return parts[3], members, nil
}

func fromCBOR(v cbor.Value) any {
	switch v := v.(type) {
	case cbor.Map:
		t := tree{}
		for k, x := range v {
			t[k] = fromCBOR(x)
		}
		return t
	case cbor.List:
		all := make([]any, len(v))
		for k, x := range v {
			all[k] = fromCBOR(x)
		}
		return all
	case cbor.String:
		return string(v)
	case cbor.Bool:
		return bool(v)
	case cbor.Slice:
		return text64(v)
	case *cbor.Tag:
		if t, err := cbor.AsTime(v); err == nil {
			return t
		}
		return nil
	case cbor.Uint:
		return float64(v)
	case cbor.NegInt:
		return -float64(v)
	case cbor.Float32:
		return float64(v)
	case cbor.Float64:
		return float64(v)
	}
	return nil
}

func toCBOR(v any) cbor.Value {
	object := func(all []field) cbor.Value {
		m := cbor.Map{}
		for _, f := range all {
			m[f.name] = toCBOR(f.value)
		}
		return m
	}
	switch v := v.(type) {
	case []field:
		return object(v)
	case pairs:
		return object(v)
	case []any:
		all := make(cbor.List, len(v))
		for k, x := range v {
			all[k] = toCBOR(x)
		}
		return all
	case string:
		return cbor.String(v)
	case bool:
		return cbor.Bool(v)
	case float64:
		return cbor.Float64(v)
	case int64:
		if v < 0 {
			return cbor.NegInt(-v)
		}
		return cbor.Uint(v)
	case time.Time:
		return &cbor.Tag{ID: 1, Value: cbor.Float64(math.Round(float64(v.UnixNano())/1e6) / 1e3)}
	}
	return &cbor.Nil{}
}

func (cborWire) answer(w http.ResponseWriter, _ call, result any) {
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	send(w, http.StatusOK, "application/cbor", cbor.Encode(toCBOR(render(reflect.ValueOf(result)))))
}

func (cborWire) refuse(w http.ResponseWriter, c call, f *account.Fault) {
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	tell(w, f)
	send(w, f.Status, "application/cbor",
		cbor.Encode(cbor.Map{"__type": cbor.String(shape(c.service, f.Code)), "message": cbor.String(f.Message)}))
}

// tell gives the code of the Query protocol to clients of the newer ones.
func tell(w http.ResponseWriter, f *account.Fault) {
	w.Header().Set("X-Amzn-Query-Error", f.Code+";"+blame(f))
}

// blame is who is at fault.
func blame(f *account.Fault) string {
	if f.Status >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}

func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever hung up misses it
}
