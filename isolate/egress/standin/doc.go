// Package standin plays what programs reach over the network, for tests, on
// loopback: a web server of every name, a store of packages, git over HTTP. A
// CONNECT proxy beside it asks for a name and a password, as a company's does,
// and leads every host here. It writes down what arrived. No shipped code
// imports it.
package standin
