import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { maxWaitingBytes, Output } from './output.ts'

const formatLostLine = (lines: number) => `${lines} lost\n`

/** Takes `room` bytes until it is given more. */
function slowReader(room: number) {
  let text = ''
  return {
    text: () => text,
    give(bytes: number) {
      room += bytes
    },
    sink(bytes: Uint8Array) {
      if (room === 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' })
      const taken = bytes.subarray(0, room)
      room -= taken.length
      text += Buffer.from(taken).toString()
      return taken.length
    },
  }
}

test('what is not taken waits in its order, a line that was cut too', async () => {
  const reader = slowReader(5)
  const output = new Output(reader.sink, { formatLostLine: formatLostLine })
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line)
  assert.equal(reader.text(), 'one\nt')
  reader.give(100)
  while (reader.text().length < 14) await setTimeout(5)
  output.write('four\n')
  assert.equal(reader.text(), 'one\ntwo\nthree\nfour\n')
})

test('what waits is bounded, and what was lost is counted and told', async () => {
  const reader = slowReader(0)
  let lost = 0
  const output = new Output(reader.sink, {
    formatLostLine: formatLostLine,
    onLost() {
      lost += 1
    },
  })
  const line = `${'x'.repeat(1023)}\n`
  for (let written = 0; written < 2 * maxWaitingBytes; written += line.length) output.write(line)
  assert.equal(lost, 1024)
  reader.give(Number.MAX_SAFE_INTEGER)
  while (reader.text().length <= maxWaitingBytes) await setTimeout(5)
  assert.equal(reader.text(), `${line.repeat(1024)}1024 lost\n`)
})

test('a process continues and ends although its pipe is not read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-output-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const blocking = openSync(path, constants.O_WRONLY)
  const fixture = fileURLToPath(new URL('./fixtures/writes-lines.ts', import.meta.url))
  const child = spawn(process.execPath, [fixture], { stdio: ['ignore', 'ignore', blocking, 'ipc'] })
  try {
    child.send(20_000)
    const [lost] = (await once(child, 'message')) as [number]
    assert.ok(lost > 0, 'two megabytes are more than the pipe and the lines that wait may hold')
    const buffer = Buffer.alloc(1 << 16)
    let text = ''
    while (!text.includes('lost')) {
      try {
        text += buffer.subarray(0, readSync(pipe, buffer)).toString()
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
        await setTimeout(5)
      }
    }
    const lines = text.split('\n').slice(0, -2)
    assert.deepEqual(
      lines.map(Number),
      lines.map((_, index) => index),
    )
    assert.equal(lines.length + lost, 20_000)
    child.disconnect()
    assert.deepEqual(await once(child, 'exit'), [0, null])
  } finally {
    child.kill('SIGKILL')
    closeSync(blocking)
    closeSync(pipe)
    rmSync(folder, { recursive: true })
  }
})
