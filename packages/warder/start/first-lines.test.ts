import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readFirstPassword, writeServiceLine } from '../service/service-line.ts'
import { temporaryHome } from '../testing/installation.ts'
import { formatFirstLines, formatTryCommand } from './first-lines.ts'

const tls = { ca_file: 'tls/own.crt' }
const endpoints = { auth: { url: 'https://127.0.0.1:1', tls }, kms: { url: 'https://127.0.0.1:2', tls } }

test('what is printed to be pasted names the home, unless it is the one that everybody looks in', () => {
  assert.equal(formatTryCommand(join(process.cwd(), '.warder')), 'npx warder try')
  assert.equal(formatTryCommand('/var/lib/warder'), 'npx warder try --home /var/lib/warder')
  assert.equal(formatTryCommand("/it's here"), "npx warder try --home '/it'\\''s here'")
  assert.equal(formatTryCommand('/var/lib/warder', 'warder'), 'warder try --home /var/lib/warder')
  for (const line of formatFirstLines('/var/lib/warder', endpoints))
    assert.match(line, /--cacert \/var\/lib\/warder\/tls\/own\.crt/)
})

test('the first password is for the start that made it, and lines are prose at a terminal alone', () => {
  const home = temporaryHome()
  try {
    const file = join(home, 'initial-admin-password')
    const notices = [`The realm _ has its first administrator: admin. Its password is in ${file}`]
    assert.deepEqual(readFirstPassword(home, notices), [])
    writeFileSync(file, 'a first password\n')
    assert.deepEqual(readFirstPassword(home, notices), ['Password: a first password'])
    assert.deepEqual(readFirstPassword(home, []), [], 'a later start says nothing of it')
    const out: string[] = []
    const err: string[] = []
    const streams = {
      out: (line: string) => void out.push(line),
      err: (line: string) => void err.push(line),
      env: {},
    }
    writeServiceLine({ ...streams, isTerminal: { out: true, err: false } }, 'info', 'it runs')
    writeServiceLine({ ...streams, isTerminal: { out: true, err: false } }, 'warn', 'it stops', { code: 1 })
    assert.deepEqual(out, ['it runs'])
    const { level, code, msg } = JSON.parse(err[0] ?? '') as Record<string, unknown>
    assert.deepEqual([level, code, msg], ['warn', 1, 'it stops'])
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
