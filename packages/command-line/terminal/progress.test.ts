import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressBar } from './progress.ts'

function screen(columns?: number) {
  const written: string[] = []
  const output = {
    isTTY: true,
    ...(columns !== undefined && { columns }),
    write: (text: string) => void written.push(text),
  }
  return { output, written }
}

test('the bar shows share, amount and speed, ten times a second at most, and is taken away', () => {
  const { output, written } = screen()
  let time = 0
  const bar = progressBar(output, () => time)
  const mebibyte = 1024 * 1024
  for (time = 0; time < 1000; time += 10) bar.update(time * mebibyte, 1000 * mebibyte)
  assert.equal(written.length, 10)
  assert.match(written[5] ?? '', /\[=+ +\] {2}50% {2}500 of 1000 MiB {2}1000 MiB\/s$/)
  bar.clear()
  bar.clear()
  assert.deepEqual(written.slice(10), ['\r\u001b[K'])
})

test('it fits narrow terminals, empty files and files that grow', () => {
  for (const columns of [0, 1, 20, 300]) {
    const { output, written } = screen(columns)
    progressBar(output, () => 0).update(1, 1)
    assert.ok((written[0] ?? '').length < 120)
    assert.equal(written[0]?.includes('[='), columns === 0 || columns === 300)
  }
  const { output, written } = screen()
  progressBar(output, () => 0).update(0, 0)
  progressBar(output, () => 0).update(9, 1)
  for (const text of written) assert.match(text, /100%/)
})

test('without a terminal nothing is written', () => {
  const { output, written } = screen()
  const bar = progressBar({ ...output, isTTY: false })
  bar.update(1, 2)
  bar.clear()
  assert.deepEqual(written, [])
})
