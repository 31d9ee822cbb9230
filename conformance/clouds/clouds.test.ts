import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { issueCertificate } from '@warder/server'
import { type Installation, newUser, runInProcess, startInstallation, temporaryHome } from 'warder/testing'
import { cloudsParts } from './command.ts'

const home = temporaryHome()
const settings = join(home, 'kms.toml')
let warder: Installation
after(async () => {
  await warder.stop()
  rmSync(home, { recursive: true, force: true })
})

const runClouds = (words: readonly string[], token?: string) =>
  runInProcess(warder, words, { parts: cloudsParts, token })

async function countSteps(...words: string[]): Promise<number> {
  const { code, out, err } = await runClouds(words)
  assert.equal(code, 0, `${out}${err}`)
  assert.doesNotMatch(out, /FAILED/)
  return out.match(/^ok /gm)?.length ?? 0
}

async function issueAuthority(): Promise<X509Certificate> {
  const now = Date.now()
  const plan = { hostnames: [], addresses: [], notBefore: new Date(now - 1e6), notAfter: new Date(now + 1e9) }
  const { certificatePem } = await issueCertificate(
    { ...plan, commonName: 'Cloud', purpose: 'authority' },
    undefined,
  )
  return new X509Certificate(certificatePem)
}

before(async () => {
  warder = await startInstallation({ home })
  const authority = await issueAuthority()
  const pool = join(home, 'pool.json')
  const caCertificates = [authority.raw.toString('base64')]
  writeFileSync(
    pool,
    JSON.stringify({ caCertificates, subjectCommonName: 'contoso.managedhsmclient.azure.net' }),
  )
  const idp = 'https://idp.example.com,https://idp.example.com/jwks,client-id'
  const tenant = '2ec40e65-ba09-4853-bcde-bcb60029e596'
  for (const words of [
    ['aws', 'enable', '--region', 'eu-west-1'],
    ['azure', 'enable', '--certificates', pool],
    ['google', 'enable', '--domain', 'example.com', '--idp', idp, '--admin', 'ann@example.com'],
    ['microsoft', 'enable', '--tenant', tenant, '--name', 'finance', '--email', 'ann@contoso.com'],
  ]) {
    const { code, err } = await runInProcess(warder, ['external', ...words])
    assert.equal(code, 0, err)
  }
  writeFileSync(settings, `kms_public_url = "https://kms.example.com/"\n${readFileSync(settings, 'utf8')}`)
  await warder.stop()
  warder = await startInstallation({ home })
})

test('a running service completes the exchanges of AWS KMS, Managed HSM, Google and Office', async () => {
  assert.equal(await countSteps('aws'), 7)
  assert.equal(await countSteps('azure'), 7)
  assert.equal(await countSteps('google'), 18)
  assert.equal(await countSteps('microsoft'), 7)
  const shown = await runInProcess(warder, ['external', 'aws', 'show'])
  assert.equal(shown.out.trim().split('\n').length, 3, 'the temporary access key is removed')
  const json = JSON.parse((await runClouds(['aws', '--json'])).out)
  assert.deepEqual([json.store, json.ok], ['aws', true])
})

test('every operation of Google succeeds in a temporary home, which is removed', async () => {
  const before = readFileSync(settings, 'utf8')
  const folder = join(home, 'temporary')
  mkdirSync(folder)
  const { TMPDIR } = process.env
  process.env.TMPDIR = folder
  try {
    const { code, out, err } = await runClouds(['google', '--rehearse'])
    assert.equal(code, 0, `${out}${err}`)
    for (const operation of [
      ...['wrap', 'unwrap', 'digest', 'rewrap', 'privilegedwrap', 'privilegedunwrap', 'delegate'],
      ...['wrapprivatekey', 'privatekeysign', 'privatekeydecrypt', 'privilegedprivatekeydecrypt'],
    ])
      assert.match(out, new RegExp(`^ok +${operation},`, 'm'))
    assert.equal(out.match(/^ok /gm)?.length, 24)
    assert.deepEqual(readdirSync(folder), [])
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
  assert.equal(readFileSync(settings, 'utf8'), before)
})

test('a stopped store, an unknown argument and a user without the right are refused', async () => {
  const token = await newUser(warder, 'eve')
  for (const words of [['aws'], ['google'], ['google', '--rehearse']]) {
    const { code, err } = await runClouds(words, token)
    assert.equal(code, 1)
    assert.match(err, /Access denied/)
  }
  assert.equal((await runClouds(['azure', 'more'])).code, 2)
  assert.equal((await runInProcess(warder, ['external', 'azure', 'disable'])).code, 0)
  assert.equal((await runClouds(['azure'])).code, 1)
})

test('AWS KMS without its client certificate is refused where the settings require one', async () => {
  const ca = join(home, 'amazon.pem')
  writeFileSync(ca, (await issueAuthority()).toString())
  const { out } = await runInProcess(warder, [
    'external',
    'aws',
    'enable',
    '--region',
    'eu-west-1',
    '--client-ca',
    ca,
  ])
  const [lines = ''] =
    /^ {2}aws_xks_client_names = .*\n {2}aws_xks_client_ca_cert_file = .*$/m.exec(out) ?? []
  const enabled = 'aws_xks_enable = true'
  writeFileSync(settings, readFileSync(settings, 'utf8').replace(enabled, `${enabled}\n${lines}`))
  await warder.stop()
  warder = await startInstallation({ home })
  const tested = await runClouds(['aws'])
  assert.match(tested.out, /^ok +a signature without a client certificate is refused$/m)
  assert.equal(tested.out.match(/^ok /gm)?.length, 8)
})
