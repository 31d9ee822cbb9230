import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { findHome } from '../commands/command.ts'
import { findInitialPasswordFile } from '../endpoints.ts'
import { findServiceEndpoints, readEndpointOptions } from './service-endpoints.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-places-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const nothing = {
  ...{ home: undefined, url: undefined, 'auth-url': undefined, 'ca-file': undefined, context: undefined },
}
const env = {
  WARDER_URL: 'https://kms.example:9998',
  WARDER_AUTH_URL: 'https://auth.example:8443',
  WARDER_CA_FILE: '/etc/ca.crt',
}

test('the environment says where the services are, and the line wins', () => {
  const [url, authUrl, caFile] = Object.values(env)
  const here = { home: resolve('.warder'), logins: resolve('.warder'), context: undefined }
  assert.deepEqual(readEndpointOptions(nothing, env), { ...here, url, authUrl, caFile })
  const other = 'https://other.example'
  assert.equal(readEndpointOptions({ ...nothing, url: other }, env).url, other)
  assert.deepEqual(readEndpointOptions(nothing, { WARDER_URL: '', WARDER_HOME: '/h' }), {
    ...{ home: resolve('/h'), logins: resolve('/h'), context: undefined },
    ...{ url: undefined, authUrl: undefined, caFile: undefined },
  })
})

test('a home that is said means its own services', () => {
  const { home, url, authUrl, caFile } = readEndpointOptions({ ...nothing, home: folder }, env)
  assert.deepEqual([home, url, authUrl, caFile], [folder, undefined, undefined, undefined])
  assert.throws(
    () => findServiceEndpoints(readEndpointOptions({ ...nothing, home: folder }, env)),
    /are the services running/,
  )
})

test('without a home here, the one of the installed package is found if it can be read', () => {
  const installed = join(folder, 'installed')
  const here = process.cwd()
  const empty = join(folder, 'empty')
  mkdirSync(installed)
  mkdirSync(empty)
  try {
    process.chdir(empty)
    assert.deepEqual(findHome(undefined, {}, installed), { path: '.warder', isForeign: false })
    writeFileSync(join(installed, 'endpoints.json'), '{}')
    assert.deepEqual(findHome(undefined, {}, installed), { path: installed, isForeign: false })
    assert.equal(findHome(undefined, { WARDER_HOME: '/h' }, installed).path, '/h')
    assert.equal(findHome('/g', { WARDER_HOME: '/h' }, installed).path, '/g')
    mkdirSync('.warder')
    assert.equal(findHome(undefined, {}, installed).path, '.warder')
  } finally {
    process.chdir(here)
  }
})

test('what is no address is told with where it came from', () => {
  assert.throws(
    () => readEndpointOptions(nothing, { WARDER_URL: 'http://kms' }),
    /--url \(WARDER_URL\) must have the form https:.*, not 'http:\/\/kms'/,
  )
})

test("the first administrator's password of a home is for its own services alone", () => {
  const home = join(folder, 'home')
  mkdirSync(home)
  assert.equal(findInitialPasswordFile(home, 'https://127.0.0.1:8443'), undefined)
  const endpoints = { auth: { url: 'https://127.0.0.1:8443' }, kms: { url: 'https://127.0.0.1:9998' } }
  writeFileSync(join(home, 'endpoints.json'), JSON.stringify(endpoints))
  assert.equal(findInitialPasswordFile(home, 'https://127.0.0.1:8443/'), join(home, 'initial-admin-password'))
  for (const url of ['https://127.0.0.1:8444', 'https://evil.example:8443', 'https://127.0.0.1:9998'])
    assert.equal(findInitialPasswordFile(home, url), undefined, url)
})
