import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartupError } from '../errors.ts'
import { findExposedFiles, openHome, writeOnce } from './home.ts'

function folder(): string {
  return mkdtempSync(join(tmpdir(), 'warder-home-'))
}

test('a missing home is made with mode 0700, and an existing one is taken as it is', () => {
  const parent = folder()
  const home = openHome(join(parent, 'a', 'b'))
  assert.equal(statSync(home).mode & 0o777, 0o700)
  assert.equal(openHome(home), home)
  rmSync(parent, { recursive: true })
})

test('a home that others can write, and a home that is a file, are refused with one line', () => {
  const parent = folder()
  chmodSync(parent, 0o777)
  assert.throws(
    () => openHome(parent),
    (error: unknown) => error instanceof StartupError && /chmod 700/.test(error.message),
  )
  chmodSync(parent, 0o700)
  writeFileSync(join(parent, 'file'), '')
  assert.throws(
    () => openHome(join(parent, 'file', 'home')),
    (error: unknown) => error instanceof StartupError && !error.message.includes('\n'),
  )
  rmSync(parent, { recursive: true })
})

test('a file of the first run is written once, for its owner only, and never over an existing one', () => {
  const home = folder()
  const path = join(home, 'auth.toml')
  assert.equal(writeOnce(path, 'first'), true)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(writeOnce(path, 'second'), false)
  assert.equal(readFileSync(path, 'utf8'), 'first')
  rmSync(home, { recursive: true })
})

test('secret files that other users can read are named, where they can enter the home', () => {
  const home = folder()
  mkdirSync(join(home, 'tls'), { mode: 0o755 })
  for (const [name, mode] of [
    ['tls/kms.key', 0o644],
    ['tls/kms.crt', 0o644],
    ['tls/auth.key', 0o600],
    ['kms.db', 0o640],
    ['initial-admin-password', 0o604],
    ['endpoints.json', 0o644],
  ] as const) {
    writeFileSync(join(home, name), '')
    chmodSync(join(home, name), mode)
  }
  assert.deepEqual(findExposedFiles(home), [])
  chmodSync(home, 0o755)
  assert.deepEqual([...findExposedFiles(home)].sort(), ['initial-admin-password', 'kms.db', 'tls/kms.key'])
  chmodSync(join(home, 'tls'), 0o700)
  assert.deepEqual([...findExposedFiles(home)].sort(), ['initial-admin-password', 'kms.db'])
  rmSync(home, { recursive: true })
})
