import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  commandsOf,
  type Installation,
  missingPrograms,
  runCommands,
  startInstallation,
} from '../testing/index.ts'

const skip = missingPrograms('cut', 'sed', 'curl')

let warder: Installation
let folder: string
before(async () => {
  if (skip !== false) return
  folder = mkdtempSync(join(tmpdir(), 'warder-guide-'))
  warder = await startInstallation()
})
after(async () => {
  if (skip !== false) return
  await warder.stop()
  rmSync(folder, { recursive: true, force: true })
})

const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

/** Runs a page against the installation and checks that its output says all of this. */
async function follow(
  commands: readonly string[],
  env: Readonly<Record<string, string>>,
  expected: readonly RegExp[],
): Promise<void> {
  const { status, text } = await runCommands(commands, folder, { WARDER_HOME: warder.home, ...env })
  assert.equal(status, 0, text)
  for (const sentence of expected) assert.match(text, sentence)
}

test('the commands of the README work, in their order', { skip }, async () => {
  const commands = commandsOf('README.md')
  assert.equal(commands.length, 1)
  copyFileSync(new URL('../../../README.md', import.meta.url), join(folder, 'README.md'))
  await follow(commands, {}, [
    /^README\.md\.warder {2}written/m,
    /^bob may now: decrypt/m,
    /^ok .*audit.kms: /m,
  ])
  assert.equal(read('the-same.md'), read('README.md'))
})

test('the commands of the guide to keys work, in their order', { skip }, async () => {
  const [first = '', ...rest] = commandsOf('docs/guides/kms.md')
  assert.match(first, /^H=\.warder/)
  assert.ok(rest.length >= 6)
  const addresses = { H: warder.home, AUTH: warder.authUrl, KMS: warder.kmsUrl }
  // The addresses of this installation take the place of those that the page sets.
  await follow([first.replace(/^(H|AUTH|KMS)=.*$/gm, ''), ...rest], addresses, [
    /"ciphertext":"/,
    /"data":"aGVsbG8"/,
    /"valid":true/,
    /"user_id":"bob"/,
    /"status":200,"result":/,
  ])
})

test('the commands of the guide to KMIP work, in their order', {
  skip: skip === false ? missingPrograms('openssl') : skip,
}, async () => {
  const [first = '', ...rest] = commandsOf('docs/guides/kmip.md')
  assert.match(first, /^alias warder=/)
  assert.ok(rest.length >= 6)
  const { kmip } = JSON.parse(readFileSync(join(warder.home, 'endpoints.json'), 'utf8'))
  await follow(rest, { KMS: warder.kmsUrl, SOCKET: `${kmip.host}:${kmip.port}` }, [
    /^storage-1\.crt and storage-1\.key: storage-1, until /m,
    /^Versions: 2\.1, 2\.0, 1\.4, 1\.3, 1\.2, 1\.1, 1\.0$/m,
    /Verification: OK/,
    /"tag":"ActivateResponse"/,
    /"tag":"AuthenticatedEncryptionTag"/,
    /"tag": "LocatedItems"|"tag": "UniqueIdentifier"/,
    /ProtocolVersionMajor/,
    /"operation":"kmip\.Encrypt".*"principal":"storage-1"/,
  ])
})
