// A kube-apiserver as Kubernetes ships it, for tests/kubernetes: k8s.io/kubernetes's go.mod names its parts by folders of
// its own repository, so that `go install` cannot build it by its path; this module names their releases in their place.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
