package conversion

// Parts are a text in parts. It is for one goroutine at a time.
type Parts struct {
	All  [][]byte // read-only; valid until Reset
	made []byte   // the memory of the parts that Make has added
}

// Reset removes all parts, and uses their memory again.
func (p *Parts) Reset() { p.All, p.made = p.All[:0], p.made[:0] }

// Add adds a part, which it does not copy.
func (p *Parts) Add(part []byte) { p.All = append(p.All, part) }

// Make adds a part, unless it is empty. f appends it to its argument.
func (p *Parts) Make(f func([]byte) []byte) {
	start := len(p.made)
	if p.made = f(p.made); len(p.made) > start {
		p.Add(p.made[start:len(p.made):len(p.made)])
	}
}

// Size returns the length of all parts from one on, in bytes.
func (p *Parts) Size(from int) (size int) {
	for _, part := range p.All[from:] {
		size += len(part)
	}
	return size
}

// AddItem adds the parts of item i of a list. It adds the same each time.
type AddItem func(parts *Parts, i int) error

// EncodedItems returns n items between a head and a tail, which may depend on the size of all items. The items are made twice: for
// their size, and while they are sent, so that a long list takes no memory.
func EncodedItems(n int, add AddItem, around func(size int) (head, tail []byte)) (Encoded, error) {
	var parts Parts
	size := 0
	for i := range n {
		parts.Reset()
		if err := add(&parts, i); err != nil {
			return Encoded{}, err
		}
		size += parts.Size(0)
	}
	head, tail := around(size)
	size += len(head) + len(tail)
	return Encoded{Size: size, Pieces: func(send func([]byte) bool) {
		var parts Parts
		piece := append(make([]byte, 0, min(size, sendSize+sendSize/4)), head...)
		for i := range n {
			parts.Reset()
			if add(&parts, i) != nil {
				return // the client notices that the answer is too short
			}
			for _, part := range parts.All {
				piece = append(piece, part...)
			}
			if len(piece) >= sendSize {
				if !send(piece) {
					return
				}
				piece = piece[:0]
			}
		}
		send(append(piece, tail...))
	}}, nil
}
