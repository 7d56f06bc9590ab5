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

// This file has the three protocols, each a wire. Sources: the Smithy specifications of awsQuery, awsJson1_0,
// awsJson1_1 and rpcv2Cbor.

// queryWire is the Query protocol: a form in, XML out. A key such as Tags.member.1.Key is a path; what is numbered
// below "member" is a list.
type queryWire struct{}

// request reads a form from the body and the URL; the URL counts where both name a key.
func (queryWire) request(r *http.Request, body []byte) (string, tree, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil, fmt.Errorf("the body is no form: %w", err)
	}
	for k, v := range r.URL.Query() {
		form[k] = v
	}
	action := form.Get("Action")
	// Action and Version are of the protocol and no members.
	form.Del("Action")
	form.Del("Version")
	root := tree{}
	// Keys are inserted in order, so that a request always fails at the same key.
	for _, key := range sortedKeys(form) {
		if err := insert(root, strings.Split(key, "."), form.Get(key)); err != nil {
			return action, nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	members, _ := toLists(root).(tree)
	return action, members, nil
}

// maxDepth is how deep the members of a request may be nested.
const maxDepth = 16

// insert sets a value at a path, and makes the trees on the way. A text on the way is replaced by a tree.
func insert(at tree, path []string, value string) error {
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

// toLists replaces trees that are numbered below "member" by lists, in the order of the numbers.
func toLists(v any) any {
	t, ok := v.(tree)
	if !ok {
		return v
	}
	// A structure with a member named "member" does not exist in the modelled APIs.
	if numbered, ok := t["member"].(tree); ok && len(t) == 1 {
		keys := sortedKeys(numbered)
		slices.SortFunc(keys, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		})
		all := make([]any, len(keys))
		for k, key := range keys {
			all[k] = toLists(numbered[key])
		}
		return all
	}
	for k, x := range t {
		t[k] = toLists(x)
	}
	return t
}

// sortedKeys returns the keys of a map in order: errors must not depend on the order of a map.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// namespace returns the XML namespace of a service.
func namespace(s account.API) string {
	if s == account.CloudWatchService {
		return "http://monitoring.amazonaws.com/doc/2010-08-01/"
	}
	return "http://autoscaling.amazonaws.com/doc/2011-01-01/"
}

// answer writes ACTIONResponse with ACTIONResult in it, in the namespace of the service.
func (queryWire) answer(w http.ResponseWriter, c call, result any) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<%sResponse xmlns=%q><%sResult>", c.action, namespace(c.service), c.action)
	writeXML(&b, render(reflect.ValueOf(result)))
	fmt.Fprintf(&b, "</%sResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>", c.action,
		c.id, c.action)
	send(w, http.StatusOK, "text/xml", b.Bytes())
}

// refuse writes ErrorResponse with code, message and whose fault it is.
func (queryWire) refuse(w http.ResponseWriter, c call, f *account.Fault) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<ErrorResponse xmlns=%q><Error><Type>%s</Type><Code>", namespace(c.service), faultType(f))
	writeXML(&b, f.Code)
	b.WriteString("</Code><Message>")
	writeXML(&b, f.Message)
	fmt.Fprintf(&b, "</Message></Error><RequestId>%s</RequestId></ErrorResponse>", c.id)
	send(w, f.Status, "text/xml", b.Bytes())
}

// writeXML writes a value. Writing to a bytes.Buffer cannot fail.
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

// jsonWire is AWS JSON 1.0 and 1.1. With camel the names begin with a small letter, as those of ECS do.
type jsonWire struct{ camel bool }

// request reads the action from X-Amz-Target, which is SERVICE.ACTION, and the members from the body.
func (jsonWire) request(r *http.Request, body []byte) (string, tree, error) {
	target := r.Header.Get("X-Amz-Target")
	action := target[strings.LastIndexByte(target, '.')+1:]
	// A target of another service, or without one, names an action that no table has.
	if prefix := strings.TrimSuffix(target, "."+action); !slices.Contains([]string{"AmazonEC2ContainerServiceV20141113",
		"AnyScaleFrontendService", "AmazonSQS", "GraniteServiceVersion20100801"}, prefix) {
		return target, nil, nil
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return action, tree{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	// Numbers stay as they were written: a float64 would lose digits of large ones before the bound is checked.
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return action, nil, fmt.Errorf("the body is no JSON object: %w", err)
	}
	t, _ := toTree(members).(tree)
	return action, t, nil
}

// toTree makes a tree of decoded JSON.
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

// mediaType returns the media type of a service's JSON.
func mediaType(s account.API) string {
	if s == account.SQSService || s == account.CloudWatchService {
		return "application/x-amz-json-1.0"
	}
	return "application/x-amz-json-1.1"
}

// answer writes the result as one JSON object.
func (j jsonWire) answer(w http.ResponseWriter, c call, result any) {
	var b bytes.Buffer
	j.write(&b, render(reflect.ValueOf(result)))
	send(w, http.StatusOK, mediaType(c.service), b.Bytes())
}

// refuse writes the type of the error and its message as a JSON object.
func (j jsonWire) refuse(w http.ResponseWriter, c call, f *account.Fault) {
	// Both JSON and CBOR carry the old code in a header beside the new type in the body.
	setQueryError(w, f)
	var b bytes.Buffer
	j.write(&b, pairs{{"__type", errorType(c.service, f.Code)}, {"message", f.Message}})
	send(w, f.Status, mediaType(c.service), b.Bytes())
}

// write writes a value as JSON. Members keep their order, which package json would lose with a map. Times are seconds
// since 1970 with milliseconds.
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
		// Everything else has the same form in plain JSON.
		if encoded, err := json.Marshal(v); err == nil { // text, numbers and truth values always have an encoding
			b.Write(encoded)
		}
	}
}

// name returns the name of a member as the service writes it.
func (j jsonWire) name(n string) string {
	if !j.camel {
		return n
	}
	return string(unicode.ToLower(rune(n[0]))) + n[1:]
}

// cborWire is Smithy RPC v2 CBOR. Its path names service and operation.
type cborWire struct{}

// request reads the action from the path and the members from the body, which is one CBOR map.
func (cborWire) request(r *http.Request, body []byte) (string, tree, error) {
	// The path is /service/NAME/operation/ACTION.
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

// fromCBOR makes a tree of decoded CBOR. Whole numbers become float64, which the bound of 32 bits makes exact.
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
	// A blob becomes what it is in JSON, so that the model sees one form.
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

// toCBOR makes a CBOR value of an answer. Times are tagged seconds since 1970, rounded to milliseconds.
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
		// Tag 1 is a time as seconds since 1970.
		return &cbor.Tag{ID: 1, Value: cbor.Float64(math.Round(float64(v.UnixNano())/1e6) / 1e3)}
	}
	return &cbor.Nil{}
}

// answer writes the result as one CBOR map.
func (cborWire) answer(w http.ResponseWriter, _ call, result any) {
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	send(w, http.StatusOK, "application/cbor", cbor.Encode(toCBOR(render(reflect.ValueOf(result)))))
}

// refuse writes the type of the error and its message as a CBOR map.
func (cborWire) refuse(w http.ResponseWriter, c call, f *account.Fault) {
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	setQueryError(w, f)
	send(w, f.Status, "application/cbor",
		cbor.Encode(cbor.Map{"__type": cbor.String(errorType(c.service, f.Code)), "message": cbor.String(f.Message)}))
}

// setQueryError sets the header with the code of the Query protocol, which SDKs of the newer protocols show to
// programs that know the old codes.
func setQueryError(w http.ResponseWriter, f *account.Fault) {
	w.Header().Set("X-Amzn-Query-Error", f.Code+";"+faultType(f))
}

// faultType returns whose fault it is: Sender for the client, Receiver for the service.
func faultType(f *account.Fault) string {
	if f.Status >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}

// send writes a whole answer with its length.
func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that hung up needs no answer
}
