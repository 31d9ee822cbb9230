import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { packFolder } from '../../scripts/package/pack.ts'
import { stageWarder } from '../../scripts/package/warder.ts'
import { type Started, startInstalled } from './start-installed.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-package-'))
const home = join(folder, 'home')
const installed = join(folder, 'installed')
let unavailable: string | undefined
let services: Started | undefined

/** The Node of the user who installs it, not the one that runs the tests. */
const path = (process.env.PATH ?? '')
  .split(':')
  .filter((place) => !place.includes('node_modules'))
  .join(':')
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(WARDER|AUTH|KMS|NODE)_|^npm_/.test(name)),
  ),
  ...{ PATH: path, WARDER_HOME: home, AUTH_PORT: '0', KMS_PORT: '0', KMS_SOCKET_SERVER_PORT: '0' },
}

function run(program: string, words: readonly string[], input = '') {
  return spawnSync(program, words, { cwd: installed, env, input, encoding: 'utf8', timeout: 120_000 })
}

before(async () => {
  const packed = await packFolder(folder, 'warder', stageWarder)
  mkdirSync(installed)
  writeFileSync(join(installed, 'package.json'), '{"private":true,"type":"module"}')
  // From the cache of npm, where nothing else is to be had.
  const words = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', packed]
  const { status, stderr } = run('npm', words)
  if (status !== 0) {
    unavailable = `the dependencies cannot be installed here: ${stderr.split('\n').find((line) => line !== '')}`
    return
  }
  assert.ok(existsSync(join(installed, 'node_modules/warder/LICENSE')))
  services = await startInstalled(join(installed, 'node_modules/.bin/warder'), [], { cwd: installed, env })
})

after(async () => {
  await services?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const warderCommand = (...words: string[]) => run(join(installed, 'node_modules/.bin/warder'), words)

test('the installed command starts the services and does the whole run', (t) => {
  if (unavailable !== undefined) return t.skip(unavailable)
  const { status, stdout, stderr } = warderCommand('try')
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^all \d+ steps passed$/m)
  const key = warderCommand('keys', 'create', '--alg', 'A256GCM').stdout.split(' ')[0] ?? ''
  writeFileSync(join(installed, 'text'), 'some text')
  assert.equal(warderCommand('crypto', 'encrypt', 'text', '--key', key).status, 0)
  assert.equal(warderCommand('crypto', 'decrypt', 'text.warder', '--output', 'again').status, 0)
  assert.equal(readFileSync(join(installed, 'again'), 'utf8'), 'some text')
  assert.equal(warderCommand('audit', 'verify').status, 0)
})
