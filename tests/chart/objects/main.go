// Reads Kubernetes objects (YAML, several documents) and decodes each strictly with Kubernetes' own types: an unknown or doubled field, or a value of
// the wrong type, is an error, as it is for an API server with strict field validation. What values mean is not looked at.
// Prints a line per object; "unknown type" for those of other projects (the Prometheus Operator's). Exit code 1 when an object is wrong.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

func main() {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	wrong := 0
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "objects:", err)
			os.Exit(1)
		}
		var header unstructured.Unstructured
		if err := yaml.Unmarshal(document, &header.Object); err != nil {
			fmt.Fprintln(os.Stderr, "objects:", err)
			os.Exit(1)
		}
		if len(header.Object) == 0 {
			continue
		}
		kind := header.GroupVersionKind()
		name := fmt.Sprintf("%s %s", kind.String(), header.GetName())
		if !scheme.Scheme.Recognizes(kind) {
			fmt.Println("unknown type:", name)
			continue
		}
		if _, _, err := decoder.Decode(document, nil, nil); err != nil {
			fmt.Fprintf(os.Stderr, "wrong: %s: %v\n", name, err)
			wrong++
			continue
		}
		fmt.Println("ok:", name)
	}
	if wrong > 0 {
		os.Exit(1)
	}
}
