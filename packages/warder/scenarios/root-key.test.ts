import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  cleanEnvironment,
  type Installation,
  runWarder,
  startInstallation,
  temporaryHome,
} from '../testing/installation.ts'
import { program } from '../testing/program.ts'

let warder: Installation
const home = temporaryHome()
const key = join(home, 'root.key')

before(async () => {
  warder = await startInstallation({ home })
})
after(async () => {
  await warder.stop()
  rmSync(home, { recursive: true, force: true })
})

/** Makes a key, or uses one that was made before: its MAC of a fixed text. */
async function mac(kid?: string): Promise<{ kid: string; mac: string }> {
  const authorization = `Bearer ${await warder.adminToken()}`
  const kms = warder.client('kms')
  const ask = async (path: string, json: unknown) => {
    const answer = await kms.ask(path, { json, headers: { authorization } })
    assert.equal(answer.status, 200, answer.text)
    return answer.json as { kid: string; mac: string }
  }
  const id = kid ?? (await ask('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })).kid
  const made = await ask('/v1/crypto/mac', { kid: id, alg: 'HS256', data: 'eA' })
  kms.close()
  return made
}

test('the root key is changed under running services, which go on, and start with the new one', async () => {
  const made = await mac()
  const old = readFileSync(key, 'utf8')
  const { code, out, err } = await runWarder(['root-key', 'rotate', '--home', home])
  assert.equal(code, 0, out + err)
  assert.match(out, /auth wrapped[\s\S]*kms wrapped[\s\S]*promoted[\s\S]*store a copy/)
  assert.notEqual(readFileSync(key, 'utf8'), old)
  assert.ok(!existsSync(`${key}.next`))
  assert.equal((await mac(made.kid)).mac, made.mac)
  await mac()
  assert.equal(await warder.stop(), 0)
  warder = await startInstallation({ home })
  assert.equal((await mac(made.kid)).mac, made.mac)
})

test('a rotation that is killed leaves an installation that starts, and running it again finishes it', async () => {
  const made = await mac()
  await warder.stop()
  for (const step of ['next written', 'auth wrapped', 'kms wrapped']) {
    const child = spawn(process.execPath, [program, 'root-key', 'rotate', '--home', home], {
      env: cleanEnvironment({}),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (text: Buffer) => {
      said += text.toString()
      if (said.includes(step)) child.kill('SIGKILL')
    })
    await new Promise((resolve) => child.once('close', resolve))
    assert.ok(said.includes(step), said)
    warder = await startInstallation({ home })
    assert.equal((await mac(made.kid)).mac, made.mac, step)
    await warder.stop()
  }
  const { code, err } = await runWarder(['root-key', 'rotate', '--home', home])
  assert.equal(code, 0, err)
  assert.ok(!existsSync(`${key}.next`))
  warder = await startInstallation({ home })
  assert.equal((await mac(made.kid)).mac, made.mac)
})

test('without the old root key nothing is rotated, and nothing is written', async () => {
  const empty = temporaryHome()
  const { code, out, err } = await runWarder(['root-key', 'rotate', '--home', empty])
  assert.deepEqual([code, out], [1, ''])
  const path = join(empty, 'root.key')
  assert.equal(err, `warder root-key: the root key ${path} does not exist; restore it from its backup\n`)
  assert.deepEqual(readdirSync(empty), [])
  const env = { KMS_ROOT_KEY_SOURCE: 'environment', AUTH_ROOT_KEY_SOURCE: 'environment' }
  assert.match(
    (await runWarder(['root-key', 'rotate', '--home', empty], env)).err,
    /WARDER_ROOT_KEY is not set\n$/,
  )
  assert.deepEqual(readdirSync(empty), [])
  rmSync(empty, { recursive: true })
})
