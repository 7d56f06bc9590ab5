// Reading damaged files. Nothing that a file says is trusted: every offset, size and page number is
// checked, and circles of pages end. The formats are in sqlite.org/fileformat2.html, sections 1.5 to
// 1.6 and 2.

package sqlitefile

import (
	"encoding/binary"
	"io"
	"math"
)

// Image reads the pages of a sealed file and of its write-ahead log without SQLite, which stops at the
// first damage. It never changes a file. It is not safe for concurrent use.
type Image struct {
	file    io.ReaderAt
	size    int64 // of the file, in bytes
	count   uint32
	log     *logIndex
	seen    []uint64 // one bit for each page that a tree or the free list leads to
	damaged []damagedNode
	// Damaged are the pages that were needed and are not intact.
	Damaged []uint32
}

// NewImage returns the image of a file and of the content of its write-ahead log. With all, intact
// frames after a damaged one count too. Without, the log ends there, as it does for SQLite.
func NewImage(file io.ReaderAt, size int64, log []byte, all bool) *Image {
	m := &Image{file: file, size: size, log: indexLog(log, all)}
	m.count = uint32(min(size/PageBytes, math.MaxUint32-1))
	if m.log.commit > 0 {
		m.count = m.log.commit
	}
	for number := range m.log.pages {
		m.count = max(m.count, number)
	}
	// A damaged page number must not allocate gigabytes for seen.
	m.count = uint32(min(int64(m.count), size/PageBytes+int64(len(log))/PageBytes+mostUnwritten))
	m.seen = make([]uint64, m.count/64+1)
	return m
}

// mostUnwritten bounds the pages that belong to the file and were never written, because they are free.
const mostUnwritten = 1 << 20

// page returns the content of a page without its seal, and whether it is intact.
func (m *Image) page(number uint32) (content []byte, whole bool) {
	if number == 0 || number > m.count {
		return nil, false
	}
	m.seen[number/64] |= 1 << (number % 64)
	if p, ok := m.log.pages[number]; ok { // the checksum of the frame covers it
		if !p.whole {
			m.Damaged = append(m.Damaged, number)
		}
		return p.content[:PageBytes-sealBytes], p.whole
	}
	page := make([]byte, PageBytes)
	n, err := m.file.ReadAt(page, int64(number-1)*PageBytes)
	whole = err == nil && n == PageBytes && CheckPage(number, page)
	if !whole {
		m.Damaged = append(m.Damaged, number)
	}
	return page[:PageBytes-sealBytes], whole
}

// Node is a page of a tree, with its rows.
type Node struct {
	Page uint32
	// Whole says that the page is intact.
	Whole bool
	// The keys of its rows, and of the pages below it, are greater than After and at most Until.
	// Indexes have no such bounds.
	After, Until int64
	// Blind says that the pages below it are unknown.
	Blind bool
	Rows  []Row
}

// Row is a row of a table: its key, and its columns as int64, float64, string, []byte or nil.
type Row struct {
	Key    int64
	Values []any
	// Whole says that all its pages are intact.
	Whole bool
}

// maxDepth bounds the depth of a tree. SQLite's are less than 20 pages deep; a deeper one is a circle.
const maxDepth = 40

// damagedNode is a page that is not intact, with its content.
type damagedNode struct {
	Node
	content []byte
}

// Rest calls visit with the damaged pages of all trees, and what look like rows in them. Call it after
// all other reading, because it marks the overflow pages of such rows as seen.
func (m *Image) Rest(visit func(Node)) {
	for _, r := range m.damaged {
		n, _ := m.node(r.Page, r.content)
		for i := range n.Rows {
			n.Rows[i].Whole = false
		}
		r.Rows = n.Rows
		visit(r.Node)
	}
}

// Tree calls visit with the pages of the tree at a root, in key order. Damaged pages come without rows.
func (m *Image) Tree(root uint32, visit func(Node)) {
	m.tree(root, Node{After: math.MinInt64, Until: math.MaxInt64}, 0, visit)
}

// tree visits a page and those below it. within has the bounds of its keys.
func (m *Image) tree(number uint32, within Node, depth int, visit func(Node)) {
	if depth > maxDepth || m.reached(number) {
		within.Page, within.Blind = number, true
		visit(within)
		return
	}
	content, whole := m.page(number)
	if !whole {
		within.Page, within.Blind = number, len(content) == 0 || content[0] != tableLeaf && content[0] != indexLeaf
		m.damaged = append(m.damaged, damagedNode{within, content})
		visit(within)
		return
	}
	n, children := m.node(number, content)
	n.After, n.Until = within.After, within.Until
	visit(n)
	after := within.After
	for _, c := range children {
		until := within.Until
		if c.keyed {
			until = min(until, c.key)
		}
		m.tree(c.page, Node{After: after, Until: until}, depth+1, visit)
		after = max(after, until)
	}
}

// reached says whether a page was read before.
func (m *Image) reached(number uint32) bool {
	return number <= m.count && m.seen[number/64]&(1<<(number%64)) != 0
}

// child is a page below another one. key is the largest key in it, if keyed.
type child struct {
	page  uint32
	key   int64
	keyed bool
}

// The kinds of pages of a tree.
const (
	indexInner = 2
	tableInner = 5
	indexLeaf  = 10
	tableLeaf  = 13
)

// node parses a page into rows and children. Invalid cells are skipped.
func (m *Image) node(number uint32, content []byte) (n Node, children []child) {
	n = Node{Page: number, Whole: true}
	head := 0
	if number == 1 {
		head = 100
	}
	if len(content) < head+12 {
		n.Blind = true
		return n, nil
	}
	b := content[head:]
	kind, cells, pointers := b[0], int(binary.BigEndian.Uint16(b[3:])), 8
	switch kind {
	case tableInner, indexInner:
		pointers = 12
	case tableLeaf, indexLeaf:
	default:
		n.Blind = true
		return n, nil
	}
	for i := range cells {
		if head+pointers+2*i+2 > len(content) {
			break
		}
		at := int(binary.BigEndian.Uint16(b[pointers+2*i:]))
		if at < head+pointers || at >= len(content) {
			continue
		}
		c := cell{b: content[at:], ok: true}
		if kind == tableInner || kind == indexInner {
			below := child{page: c.fixed32()}
			if kind == tableInner {
				below.key, below.keyed = c.signed(), true
			}
			if children = append(children, below); kind == tableInner {
				continue
			}
		}
		if r, ok := m.row(&c, kind == tableLeaf); ok {
			n.Rows = append(n.Rows, r)
		}
	}
	if kind == tableInner || kind == indexInner {
		children = append(children, child{page: binary.BigEndian.Uint32(b[8:])})
	}
	return n, children
}

// usable is the number of bytes of a page that SQLite uses.
const usable = PageBytes - sealBytes

// row parses the rest of a cell, and follows its overflow pages. most and least are the limits of the
// payload inside the page, from section 1.6 of the format.
func (m *Image) row(c *cell, keyed bool) (r Row, ok bool) {
	size := c.signed()
	most := int64((usable-12)*64/255 - 23)
	if keyed {
		r.Key, most = c.signed(), usable-35
	}
	if !c.ok || size < 0 || size > int64(m.count)*PageBytes {
		return r, false
	}
	local := size
	if size > most {
		least := int64((usable-12)*32/255 - 23)
		if local = least + (size-least)%(usable-4); local > most {
			local = least
		}
	}
	payload := c.bytes(local)
	r.Whole = true
	if size > local {
		payload, r.Whole = m.overflow(append(make([]byte, 0, size), payload...), size, c.fixed32())
	}
	if !c.ok {
		return r, false
	}
	r.Values, ok = values(payload)
	return r, ok
}

// overflow appends the content of a chain of overflow pages. A damaged page still contributes its
// content; missing pages count as zeros.
func (m *Image) overflow(payload []byte, size int64, next uint32) (_ []byte, whole bool) {
	whole = true
	for int64(len(payload)) < size {
		var content []byte
		ok := false
		if !m.reached(next) { // two rows never share a page
			content, ok = m.page(next)
		}
		if len(content) < 4 {
			return payload[:size], false
		}
		whole = whole && ok
		next = binary.BigEndian.Uint32(content)
		payload = append(payload, content[4:4+min(int64(len(content)-4), size-int64(len(payload)))]...)
	}
	return payload, whole
}

// values decodes a record.
func values(payload []byte) (all []any, ok bool) {
	head := cell{b: payload, ok: true}
	size := head.signed()
	if !head.ok || size < 1 || size > int64(len(payload)) {
		return nil, false
	}
	head.b = head.b[:max(0, size-int64(len(payload)-len(head.b)))]
	body := cell{b: payload[size:], ok: true}
	for head.ok && len(head.b) > 0 {
		all = append(all, body.value(head.signed()))
	}
	return all, head.ok && body.ok
}

// cell decodes values of SQLite's format. After the end it returns zeros, and ok is false.
type cell struct {
	b  []byte
	ok bool
}

func (c *cell) bytes(n int64) []byte {
	if n < 0 || n > int64(len(c.b)) {
		c.ok, c.b = false, nil
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cell) fixed32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// signed reads a varint of one to nine bytes.
func (c *cell) signed() int64 {
	var v uint64
	for i := 0; i < 9; i++ {
		b := c.bytes(1)
		if b == nil {
			return 0
		}
		if i == 8 {
			return int64(v<<8 | uint64(b[0]))
		}
		v = v<<7 | uint64(b[0]&0x7f)
		if b[0] < 0x80 {
			break
		}
	}
	return int64(v)
}

// value reads a column of a serial type.
func (c *cell) value(kind int64) any {
	switch {
	case kind == 0:
		return nil
	case kind == 8 || kind == 9:
		return kind - 8
	case kind >= 1 && kind <= 6:
		b := c.bytes([]int64{1, 2, 3, 4, 6, 8}[kind-1])
		var v int64
		for i, one := range b {
			if i == 0 {
				v = int64(int8(one))
				continue
			}
			v = v<<8 | int64(one)
		}
		return v
	case kind == 7:
		if b := c.bytes(8); b != nil {
			return math.Float64frombits(binary.BigEndian.Uint64(b))
		}
	case kind >= 12 && kind%2 == 0:
		return append([]byte{}, c.bytes((kind-12)/2)...)
	case kind >= 13:
		return string(c.bytes((kind - 13) / 2))
	}
	c.ok = false
	return nil
}

// Free marks the unused pages, so that [Image.Strays] skips them. It returns false if the free list is
// damaged.
func (m *Image) Free() bool {
	first, whole := m.page(1)
	if !whole || len(first) < 40 {
		return false
	}
	for next := binary.BigEndian.Uint32(first[32:]); next != 0; {
		if m.reached(next) {
			return false
		}
		trunk, whole := m.page(next)
		if !whole {
			return false
		}
		n := int(binary.BigEndian.Uint32(trunk[4:]))
		for i := 0; i < n && 8+4*i+4 <= len(trunk); i++ {
			if free := binary.BigEndian.Uint32(trunk[8+4*i:]); free <= m.count {
				m.seen[free/64] |= 1 << (free % 64)
			}
		}
		next = binary.BigEndian.Uint32(trunk)
	}
	return true
}

// Strays calls visit with the leaves of tables that no tree led to and that are not free. Such leaves
// exist where an inner page is damaged.
func (m *Image) Strays(visit func(Node)) {
	buffer := make([]byte, PageBytes) // rows are copied out of it
	for number := uint32(1); number <= m.count; number++ {
		if m.reached(number) {
			continue
		}
		p, logged := m.log.pages[number]
		content := p.content
		switch {
		case logged && p.whole:
		case logged:
			m.damaged = append(m.damaged, damagedNode{Node{Page: number, After: math.MinInt64, Until: math.MaxInt64},
				content[:usable]})
			continue
		default:
			content = buffer
			if _, err := m.file.ReadAt(content, int64(number-1)*PageBytes); err != nil || content[0] != tableLeaf ||
				!CheckPage(number, content) {
				continue
			}
		}
		if n, _ := m.node(number, content[:usable]); content[0] == tableLeaf {
			n.After, n.Until = math.MinInt64, math.MaxInt64
			visit(n)
		}
	}
}
