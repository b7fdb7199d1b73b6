#!/bin/sh
echo "running the store"
