package trace

// Converter is a scheme that converts objects between versions of the API.
type Converter interface {
	ConvertToVersion(object interface{}, version string) (interface{}, error)
}

// Converter traces the conversions of a scheme.
func (t *Tracer) Converter(next Converter) Converter { return converter{t, next} }

type converter struct {
	t    *Tracer
	next Converter
}

func (c converter) ConvertToVersion(object interface{}, version string) (interface{}, error) {
	to := version
	if to == "" {
		to = "internal version"
	}
	return ask(c.t, called(c.next, "ConvertToVersion", words(object), to), words,
		func() (interface{}, error) { return c.next.ConvertToVersion(object, version) })
}
