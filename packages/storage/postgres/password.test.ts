import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findPassword, readPassword } from './password.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-pgpass-'))
after(() => rmSync(folder, { recursive: true }))

const place = { host: 'db.example', port: 5432, database: 'kms', user: 'warder' }

test('the first line of a password file that fits is taken', () => {
  for (const [text, password] of [
    ['db.example:5432:kms:warder:a', 'a'],
    ['# db.example:5432:kms:warder:no\n*:*:*:warder:b\n*:*:*:*:c', 'b'],
    ['other:*:*:*:no\n*:5432:*:*:d:e', 'd:e'],
    ['*:*:*:*:f\\:g\\\\h', 'f:g\\h'],
    ['\\*:*:*:*:no\n*:*:*:*:i\r\n', 'i'],
    ['db.example:5432:kms:warder', undefined],
    ['db.example:5433:kms:warder:no', undefined],
    ['', undefined],
  ] as const)
    assert.equal(findPassword(text, place), password, text)
  assert.equal(findPassword('localhost:*:*:*:s', { ...place, host: '/run/pg' }), 's')
  assert.equal(findPassword('/run/pg:*:*:*:s', { ...place, host: '/run/pg' }), 's')
  assert.equal(findPassword('a\\:b:*:*:*:s', { ...place, host: 'a:b' }), 's')
})

const nothing = {
  file: undefined,
  given: undefined,
  passfile: undefined,
  env: { PGPASSFILE: join(folder, 'none') },
}

test('a file that others can read is refused, and its content is not shown', {
  skip: process.platform === 'win32',
}, () => {
  const path = join(folder, 'pgpass')
  writeFileSync(path, '*:*:*:*:secret\n', { mode: 0o600 })
  for (const [sources, name] of [
    [{ ...nothing, file: path }, 'database_password_file'],
    [{ ...nothing, passfile: path }, 'passfile'],
    [{ ...nothing, env: { PGPASSFILE: path } }, 'the password file'],
  ] as const) {
    chmodSync(path, 0o600)
    assert.match(readPassword(sources, place) ?? '', /secret$/)
    for (const mode of [0o644, 0o604, 0o660]) {
      chmodSync(path, mode)
      assert.throws(() => readPassword(sources, place), {
        name: 'StartupError',
        message: `${name}: ${path} can be read by others (mode 0${mode.toString(8)}): chmod 600 ${path}`,
      })
    }
  }
  // A file mounted for a group belongs to root; here it does only if the tests run as root.
  chmodSync(path, 0o640)
  const read = () => readPassword({ ...nothing, passfile: path }, place)
  if (process.getuid?.() === 0) assert.equal(read(), 'secret')
  else assert.throws(read, { name: 'StartupError' })
})

test('a file that is the password is one line', () => {
  const path = join(folder, 'password')
  const read = () => readPassword({ ...nothing, file: path }, place)
  assert.throws(read, { message: /^database_password_file: cannot read .*ENOENT/ })
  for (const [text, password] of [
    ['one two\n', 'one two'],
    ['x\r\n', 'x'],
    ['x', 'x'],
  ] as const) {
    writeFileSync(path, text, { mode: 0o600 })
    assert.equal(read(), password)
  }
  for (const text of ['', '\n', 'secret\nline\n', 'secret\0']) {
    writeFileSync(path, text)
    assert.throws(
      read,
      (error: Error) =>
        /must contain exactly one line/.test(error.message) && !error.message.includes('secret'),
    )
  }
})

test('the address, the password file and the environment are asked in this order', () => {
  const path = join(folder, 'order')
  writeFileSync(path, '*:*:*:*:of file', { mode: 0o600 })
  const env = { PGPASSWORD: 'of env', PGPASSFILE: path }
  assert.equal(readPassword({ ...nothing, given: 'given', passfile: path, env }, place), 'given')
  assert.equal(readPassword({ ...nothing, passfile: path, env }, place), 'of file')
  assert.equal(readPassword({ ...nothing, env }, place), 'of env')
  assert.equal(readPassword({ ...nothing, env: { PGPASSFILE: path } }, place), 'of file')
  assert.equal(readPassword(nothing, place), undefined)
})
