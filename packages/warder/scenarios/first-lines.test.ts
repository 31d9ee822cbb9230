import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import {
  cleanEnvironment,
  readLinesToPaste,
  runWarder,
  startInstallation,
  temporaryHome,
} from '../testing/installation.ts'
import { ownAuthority } from '../testing/own-authority.ts'

// The printed lines are run as they are.

const skip = spawnSync('curl', ['--version']).status !== 0 && 'there is no curl here'
const folder = temporaryHome()
after(() => rmSync(folder, { recursive: true, force: true }))

const { caFile, certificate } = await ownAuthority(folder)

/** Pastes the three lines of what was printed. @returns what the last one answers */
function paste(output: string, env: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> {
  const lines = readLinesToPaste(output)
  assert.equal(lines.length, 3, output)
  return new Promise((resolve, reject) => {
    execFile(
      'sh',
      ['-eu', '-c', lines.join('\n')],
      { env: cleanEnvironment(env) },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`${stderr}\n${lines.join('\n')}`))
        else resolve(JSON.parse(stdout) as Record<string, string>)
      },
    )
  })
}

async function assertLinesWork(
  env: Readonly<Record<string, string>>,
  pastedWith: Readonly<Record<string, string>> = {},
): Promise<void> {
  const home = temporaryHome()
  const warder = await startInstallation({ home, env })
  try {
    assert.ok('ciphertext' in (await paste(warder.output(), pastedWith)), warder.output())
  } finally {
    assert.equal(await warder.stop(), 0, warder.output())
    rmSync(home, { recursive: true })
  }
}

test('the printed lines take the password from WARDER_ADMIN_PASSWORD', { skip }, async () => {
  const env = { WARDER_ADMIN_PASSWORD: 'a "quoted" $password of mine' }
  await assertLinesWork(env, env)
})

test('the printed lines trust certificates of an authority of the user', { skip }, async () => {
  const address = ['127.0.0.1']
  await assertLinesWork({
    ...(await certificate('AUTH', [], address)),
    ...(await certificate('KMS', [], address)),
    KMS_AUTH_VERIFIER_CA_CERT: caFile,
  })
})

test('the printed lines call a kms by the name in its certificate', { skip }, async () => {
  await assertLinesWork(await certificate('KMS', ['kms.warder.test'], []))
})

test('a certificate of auth that the kms cannot verify stops the first start, which names the setting', async () => {
  for (const [hostnames, addresses, env, told] of [
    [[], ['127.0.0.1'], {}, /set auth_verifier_ca_cert in kms\.toml to the PEM file of its authority$/],
    [
      ['auth.warder.test'],
      [],
      { KMS_AUTH_VERIFIER_CA_CERT: caFile },
      /set auth_verifier_url in kms\.toml, to https:\/\/auth\.warder\.test:\d+ for example, and vault_auth_verifier_url/,
    ],
  ] as const) {
    const home = temporaryHome()
    const own = await certificate('AUTH', hostnames, addresses)
    const { code, err } = await runWarder(['start', '--home', home], { ...own, ...env })
    assert.equal(code, 1, err)
    const lines = err.split('\n').filter((line) => line.startsWith('warder '))
    assert.equal(lines.length, 1, err)
    assert.match(lines[0] ?? '', told)
    rmSync(home, { recursive: true })
  }
})
