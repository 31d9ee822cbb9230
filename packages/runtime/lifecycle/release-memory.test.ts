import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { IdleHeap } from './release-memory.ts'

const mebibyte = 1024 * 1024

test('a heap is collected when its thread is quiet, and again only when much has come to it', () => {
  let [size, busy, collections] = [60 * mebibyte, 0.5, 0]
  const heap = new IdleHeap({
    size: () => size,
    busy: () => busy,
    collect() {
      collections += 1
      size = 25 * mebibyte
    },
  })
  heap.check()
  assert.equal(collections, 0, 'not while it is busy')
  busy = 0.01
  heap.check()
  assert.equal(collections, 1)
  heap.check()
  size = 32 * mebibyte
  heap.check()
  assert.equal(collections, 1, 'not for little')
  size = 80 * mebibyte
  busy = 0.9
  heap.check()
  assert.equal(collections, 1, 'not beside requests')
  busy = 0
  heap.check()
  assert.equal(collections, 2)
})

test('a collection of this kind gives the pages of dead objects back, which another keeps', () => {
  const script = `
    const { getHeapStatistics } = require('node:v8')
    let dead = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'x' + index }))
    dead = undefined
    globalThis.gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const { total_heap_size: size, used_heap_size: used } = getHeapStatistics()
    process.stdout.write(String(size - used))`
  const { stdout } = spawnSync(process.execPath, ['--expose-gc', '-e', script], { encoding: 'utf8' })
  assert.ok(stdout !== '' && Number(stdout) < 8 * mebibyte, `${stdout} bytes are kept`)
})
