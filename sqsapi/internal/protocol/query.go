package protocol

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Query is the codec of the Query protocol: parameters as a form in the body or the URL, answers in
// XML.
type Query struct{}

const (
	// FormType is the content type of a request of the Query protocol.
	FormType     = "application/x-www-form-urlencoded"
	xmlNamespace = "http://queue.amazonaws.com/doc/2012-11-05/"
	// MaxParameters bounds a form. The largest valid request, a batch of ten messages with ten
	// attributes each, has about 400.
	MaxParameters = 2000
	// maxDots bounds the nesting of a parameter's name, and so the recursion of decode.
	maxDots = 8
)

// Request reads the form. Lists and maps are spread over numbered names, such as Attribute.1.Name. The
// path may name a queue instead of a parameter.
func (Query) Request(r *http.Request, body []byte) (Request, error) {
	root := &parameter{}
	if err := root.addForm(r.URL.RawQuery); err != nil {
		return Request{}, err
	}
	if err := root.addForm(string(body)); err != nil {
		return Request{}, err
	}
	path := strings.Trim(r.URL.Path, "/")
	ofQueue := strings.Count(path, "/") == 1
	if ofQueue && root.children["QueueUrl"] == nil {
		root.add("QueueUrl", path)
	}
	action := root.children["Action"]
	if action == nil || action.value == "" {
		return Request{}, noAction(http.StatusNotFound, "no parameter Action")
	}
	return Request{action.value, root.decode, ofQueue, true}, nil
}

// parameter is a node of the tree that dotted names form. given says that the request has a value for
// this very name.
type parameter struct {
	value    string
	given    bool
	children map[string]*parameter
}

// addForm adds the parameters of a form. Of several values for a name the first counts.
func (p *parameter) addForm(text string) error {
	if strings.Count(text, "&") >= MaxParameters {
		return Malformed("The request has too many parameters: at most %d are allowed.", MaxParameters)
	}
	form, err := url.ParseQuery(text)
	if err != nil {
		return Malformed("The request is not a valid form: %v.", err)
	}
	for name, values := range form {
		if !utf8.ValidString(name) || !utf8.ValidString(values[0]) {
			return Malformed("The parameter %s is not valid UTF-8.", Quote(name))
		}
		if strings.Count(name, ".") > maxDots {
			return Malformed("The parameter %s is nested too deeply.", Quote(name))
		}
		p.add(name, values[0])
	}
	return nil
}

// add adds one parameter to the tree below p.
func (p *parameter) add(name, value string) {
	for part := range strings.SplitSeq(name, ".") {
		child := p.children[part]
		if child == nil {
			if p.children == nil {
				p.children = map[string]*parameter{}
			}
			child = &parameter{}
			p.children[part] = child
		}
		p = child
	}
	p.value, p.given = value, true
}

// Result writes XML. An action without a result has no Result element.
func (Query) Result(w http.ResponseWriter, action string, result any) {
	var b bytes.Buffer
	b.WriteString(xml.Header + "<" + action + `Response xmlns="` + xmlNamespace + `">`)
	if result != nil {
		writeResult(&b, action+"Result", result)
	}
	b.WriteString("<ResponseMetadata>")
	writeElement(&b, "RequestId", w.Header().Get(RequestIDHeader))
	b.WriteString("</ResponseMetadata></" + action + "Response>")
	sendXML(w, http.StatusOK, b.Bytes())
}

// writeResult writes an element, in its short form if it is empty, as AWS does.
func writeResult(b *bytes.Buffer, name string, result any) {
	b.WriteString("<" + name)
	start := b.Len()
	b.WriteString(">")
	if writeMembers(b, result); b.Len() == start+1 {
		b.Truncate(start)
		b.WriteString("/>")
		return
	}
	b.WriteString("</" + name + ">")
}

// Fault writes an error.
func (Query) Fault(w http.ResponseWriter, f *Fault) {
	if f.Shape == "UnknownOperationException" { // as at AWS
		sendXML(w, f.status, []byte("<UnknownOperationException/>"))
		return
	}
	text, side := f.Text, "Receiver"
	if f.Sender() {
		side = "Sender"
	}
	if f.Shape == "QueueDoesNotExist" {
		text = "The specified queue does not exist for this wsdl version."
	}
	var b bytes.Buffer
	b.WriteString(xml.Header + `<ErrorResponse xmlns="` + xmlNamespace + `"><Error>`)
	writeElement(&b, "Type", side)
	writeElement(&b, "Code", f.Code)
	writeElement(&b, "Message", text)
	b.WriteString("<Detail/></Error>")
	writeElement(&b, "RequestId", w.Header().Get(RequestIDHeader))
	b.WriteString("</ErrorResponse>")
	sendXML(w, f.status, b.Bytes())
}

// sendXML writes an answer.
func sendXML(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	w.Write(text) // an error means that the caller is gone
}
