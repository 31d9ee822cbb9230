import assert from 'node:assert/strict'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, beforeEach, describe, test } from 'node:test'
import { readEndpointOptions } from '../kms/service-endpoints.ts'
import { context as command } from './command.ts'
import { findConfigFolder, prepareContext, readContexts } from './context-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-contexts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const env = { XDG_CONFIG_HOME: join(folder, 'config') }
const config = join(folder, 'config', 'warder')
const file = join(config, 'contexts.json')
const caFile = join(folder, 'ca.crt')
const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
writeFileSync(caFile, pem)
beforeEach(() => rmSync(config, { recursive: true, force: true }))

const nothing = {
  ...{ home: undefined, url: undefined, 'auth-url': undefined, 'ca-file': undefined, context: undefined },
}
const [url, authUrl] = ['https://kms.example:9998', 'https://auth.example:8443']

function remember(name?: string, places: object = {}): string {
  const prepared = prepareContext(env, { name, url, authUrl, caFile, ...places })
  prepared?.store()
  return prepared?.name ?? ''
}

async function run(...words: string[]): Promise<string> {
  const lines: string[] = []
  await command.run(words, { out: (line) => void lines.push(line), err: () => {}, env })
  return lines.join('\n')
}

test('the folder is that of XDG, else .config of the home folder; a relative path is ignored', () => {
  assert.equal(findConfigFolder({ XDG_CONFIG_HOME: '/x', HOME: '/h' }), '/x/warder')
  assert.equal(findConfigFolder({ XDG_CONFIG_HOME: 'x', HOME: '/h' }), '/h/.config/warder')
  assert.equal(findConfigFolder({ XDG_CONFIG_HOME: '', HOME: '/h' }), '/h/.config/warder')
  for (const none of [{}, { HOME: '' }, { HOME: 'h' }]) assert.equal(findConfigFolder(none), undefined)
  assert.equal(prepareContext({}, { name: 'x', url, authUrl, caFile }), undefined)
})

test('services are remembered with a copy of their authority, in files that only this user can read', () => {
  assert.equal(remember(), 'kms.example')
  for (const path of [
    file,
    ...readdirSync(join(config, 'authorities')).map((n) => join(config, 'authorities', n)),
  ])
    assert.equal(lstatSync(path).mode & 0o777, 0o600, path)
  for (const path of [config, join(config, 'authorities')]) assert.equal(lstatSync(path).mode & 0o777, 0o700)
  const options = readEndpointOptions(nothing, env)
  assert.deepEqual([options.url, options.authUrl, options.context], [url, authUrl, 'kms.example'])
  assert.equal(readFileSync(options.caFile ?? '', 'utf8'), pem)
  assert.equal(options.logins, config)
  // The original file may change or be deleted afterwards.
  writeFileSync(caFile, 'another')
  assert.equal(readFileSync(readEndpointOptions(nothing, env).caFile ?? '', 'utf8'), pem)
  writeFileSync(caFile, pem)
})

test('options come before variables, those before the context, that before the home of the folder', () => {
  remember()
  const other = 'https://other.example'
  const read = (values: object, more: object = {}) =>
    readEndpointOptions({ ...nothing, ...values }, { ...env, ...more })
  assert.deepEqual([read({ url: other }).url, read({ url: other }).context], [other, undefined])
  assert.equal(read({ url: other }).caFile, undefined, 'the authority of a context is for its services alone')
  assert.equal(read({}, { WARDER_URL: other }).url, other)
  assert.equal(read({}, { WARDER_HOME: '/h' }).url, undefined)
  assert.deepEqual([read({ home: '/h' }).url, read({ home: '/h' }).logins], [undefined, '/h'])
  assert.equal(read({ context: 'local' }).url, undefined)
  assert.equal(read({ context: 'kms.example' }, { WARDER_URL: other, WARDER_HOME: '/h' }).url, url)
  assert.equal(read({ 'ca-file': '/ca' }).caFile, '/ca')
  assert.equal(read({ 'auth-url': other }).authUrl, other)
  assert.throws(
    () => read({ context: 'kms.exampel' }),
    /there is no context 'kms.exampel'.*did you mean kms.example/,
  )
  assert.throws(() => read({ context: 'kms.example', home: '/h' }), /--context excludes --home/)
  assert.throws(() => read({ context: 'kms.example', url: other }), /--context excludes --url/)
})

test('contexts are listed, chosen, shown and deleted', async () => {
  assert.match(await run('list'), /^CONTEXT .*\nlocal +\* +the home of the current folder$/)
  assert.equal(remember(), 'kms.example')
  assert.equal(remember(undefined, { url: `${url}/` }), 'kms.example', 'the same address is the same context')
  assert.equal(remember(undefined, { url: 'https://kms.example:9999' }), 'kms.example-9999')
  assert.equal(
    remember('test', { url: 'https://test.example', authUrl: undefined, caFile: undefined }),
    'test',
  )
  assert.match(
    await run('list'),
    /^kms.example +https:.*\n.*\ntest +\* +https:\/\/test.example\nlocal +the home/m,
  )
  assert.match(await run('use', 'kms.example'), /^commands use kms.example \(https:/)
  assert.equal(readEndpointOptions(nothing, env).context, 'kms.example')
  const shown = JSON.parse(await run('show', '--json'))
  assert.deepEqual([shown.name, shown.url, shown.auth_url], ['kms.example', `${url}/`, authUrl])
  assert.match(
    await run('show', 'test'),
    /^context: +test\nkey management service: .*\n.*not known\n.*of the system/,
  )
  assert.equal(await run('delete', 'kms.example'), 'deleted the context kms.example')
  assert.equal(readEndpointOptions(nothing, env).context, undefined)
  assert.equal(readdirSync(join(config, 'authorities')).length, 1, 'another context has the same authority')
  await run('delete', 'kms.example-9999')
  assert.deepEqual(readdirSync(join(config, 'authorities')), [])
  await run('use', 'test')
  await run('use', 'local')
  assert.equal(JSON.parse(await run('list', '--json'))[0].current, false)
  await assert.rejects(run('use', 'tset'), /there is no context 'tset'.*did you mean test/)
  await assert.rejects(run('delete', 'none'), /there is no context 'none'/)
  await assert.rejects(run('show'), /use the home of the current folder/)
  await assert.rejects(run('fly'), /there is no verb 'fly'; verbs: list, use, show, delete/)
  await assert.rejects(run('use'), /name the context/)
})

test('what cannot be remembered is refused before a login', () => {
  for (const wrong of [
    'https://k\u0007.example',
    'https://a b',
    'http://kms.example',
    'https://u@kms.example',
  ])
    assert.throws(
      () => prepareContext(env, { name: 'x', url: wrong, authUrl, caFile }),
      /cannot be remembered|Invalid/,
    )
  remember('kms.example', { url: 'https://one.example' })
  remember('kms.example-9998', { url: 'https://two.example' })
  assert.throws(() => remember(), /the names kms.example and kms.example-9998 are taken: give --context NAME/)
  for (let count = 0; count < 62; count++) remember(`n${count}`)
  assert.throws(() => remember('another'), /there are 64 contexts already/)
  assert.equal(remember('n1'), 'n1')
})

describe('the file of the contexts', () => {
  const refuses = (expected: RegExp) => {
    assert.throws(() => readEndpointOptions(nothing, env), expected)
    assert.throws(() => remember('x'), expected)
  }

  test('is not used when others could have written or read it', () => {
    remember()
    for (const mode of [0o644, 0o620, 0o602]) {
      chmodSync(file, mode)
      refuses(/contexts.json is accessible to other users \(mode 06\d\d\), and is not accepted/)
    }
    chmodSync(file, 0o600)
    chmodSync(config, 0o777)
    refuses(/warder is accessible to other users \(mode 0777\)/)
  })

  test('is not used when it is a link or a folder, or in a folder that is a link', () => {
    remember()
    const elsewhere = join(folder, 'elsewhere')
    renameSync(file, elsewhere)
    symlinkSync(elsewhere, file)
    refuses(/contexts.json is a link, which is not accepted/)
    rmSync(file)
    mkdirSync(file)
    refuses(/is not a regular file/)
    rmSync(config, { recursive: true })
    mkdirSync(join(folder, 'target'), { recursive: true, mode: 0o700 })
    symlinkSync(join(folder, 'target'), config)
    refuses(/warder is not a folder/)
    assert.deepEqual(readdirSync(join(folder, 'target')), [], 'nothing is written through it')
  })

  test('that belongs to another user is not used', {
    skip: process.getuid?.() !== 0 && 'not root',
  }, async () => {
    remember()
    const { chownSync } = await import('node:fs')
    chownSync(file, 65534, 65534)
    refuses(/belongs to another user/)
  })

  test('is not used when it holds something else', () => {
    remember()
    const good = JSON.parse(readFileSync(file, 'utf8'))
    const [name] = Object.keys(good.contexts)
    const of = (changes: object) => ({
      ...good,
      contexts: { [name ?? '']: { ...good.contexts[name ?? ''], ...changes } },
    })
    const wrong: unknown[] = [
      '',
      '{',
      null,
      [],
      { ...good, version: 2 },
      { ...good, current: 'other' },
      { ...good, current: 7 },
      { ...good, contexts: [] },
      { ...good, contexts: { '../x': good.contexts[name ?? ''] } },
      { ...good, contexts: { local: good.contexts[name ?? ''] } },
      { ...good, contexts: { 'a\u001b[2J': good.contexts[name ?? ''] } },
      {
        ...good,
        contexts: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`n${i}`, { url }])),
        current: null,
      },
      of({ url: 'http://kms.example' }),
      of({ url: 'https://kms.example/\u001b]0;x\u0007' }),
      of({ url: 'https://user@kms.example' }),
      of({ url: 'https://kms.example/path?x' }),
      of({ auth_url: 'javascript:alert(1)' }),
      of({ ca: '../../etc/passwd' }),
      of({ ca: 'A'.repeat(64) }),
    ]
    for (const content of wrong) {
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
      refuses(/contexts.json is not a file of warder context: remove it/)
    }
    writeFileSync(file, 'x'.repeat(70_000))
    refuses(/is too large/)
  })

  test('leads to no other authority than the one that was remembered', () => {
    remember()
    const { caFile: copy = '' } = readEndpointOptions(nothing, env)
    writeFileSync(copy, `${pem}\n# another`)
    assert.throws(() => readEndpointOptions(nothing, env), /is not the one that was remembered: log in again/)
    rmSync(copy)
    assert.throws(
      () => readEndpointOptions(nothing, env),
      /does not exist: log in again with warder login --url/,
    )
    assert.equal(readEndpointOptions({ ...nothing, context: 'local' }, env).home, resolve('.warder'))
    assert.equal(readContexts(env)?.contexts.size, 1)
  })
})
