import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startAzureCloud, startGoogleCloud } from '@warder/root-key-providers/testing'
import { killAfter, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'

const folder = temporaryHome()
const [azure, google] = [await startAzureCloud(), await startGoogleCloud()]
after(() => {
  azure.cloud.close()
  google.cloud.close()
  rmSync(folder, { recursive: true, force: true })
})

function forBoth(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings)
  return Object.fromEntries(
    ['AUTH', 'KMS'].flatMap((name) => entries.map(([key, value]) => [`${name}_${key}`, value])),
  )
}

/** Settings and variables of each source, and the message of a test once it cannot be used. */
const sources = [
  {
    source: 'azure-key-vault',
    where: /where {4}https:\S+\/keys\/root$/m,
    env: {
      ...forBoth({
        ROOT_KEY_AZURE_KEY: `${azure.cloud.url}/keys/root`,
        ROOT_KEY_AZURE_AUTHORITY: azure.cloud.url,
        ROOT_KEY_AZURE_CLIENT_SECRET_FILE: azure.secretFile,
        ROOT_KEY_AZURE_CA_FILE: azure.cloud.caFile,
      }),
      AZURE_TENANT_ID: azure.tenant,
      AZURE_CLIENT_ID: azure.clientId,
    },
    refuse: () => {
      azure.state.keyType = 'EC'
    },
    refused: /has the type EC, which does not fit root_key_azure\.algorithm RSA-OAEP-256/,
  },
  {
    source: 'google-kms',
    where: /where {4}https:\S+ projects\/\S+\/cryptoKeys\/root$/m,
    env: {
      ...forBoth({
        ROOT_KEY_GOOGLE_KEY: google.key,
        ROOT_KEY_GOOGLE_ENDPOINT: google.cloud.url,
        ROOT_KEY_GOOGLE_CA_FILE: google.cloud.caFile,
      }),
      GOOGLE_APPLICATION_CREDENTIALS: google.file,
    },
    refuse: () => rmSync(google.file),
    refused: /GOOGLE_APPLICATION_CREDENTIALS: cannot read \S+account\.json/,
  },
] as const

for (const { source, where, env, refuse, refused } of sources)
  test(`a root key moves from a file to ${source} and back; a kill at each step leaves databases that open`, async () => {
    const home = join(folder, source)
    mkdirSync(home, { mode: 0o700 })
    const at = ['--home', home]
    const inCloud = { ...env, ...forBoth({ ROOT_KEY_SOURCE: source }) }
    const start = async (variables: Readonly<Record<string, string>>): Promise<string> => {
      const warder = await startInstallation({ home, env: variables })
      await warder.stop()
      return warder.output()
    }
    const run = async (
      words: readonly string[],
      variables: Readonly<Record<string, string>>,
    ): Promise<string> => {
      const { code, out, err } = await runWarder([...words, ...at], variables)
      assert.equal(code, 0, out + err)
      return out
    }
    const move = async (
      to: string,
      variables: Readonly<Record<string, string>>,
      steps: readonly string[],
    ): Promise<void> => {
      for (const step of steps) {
        await killAfter(step, ['root-key', 'move', '--to', to, ...at], variables)
        const shown = await run(['root-key', 'show'], variables)
        assert.equal(shown.match(/usable {3}yes/g)?.length, 2, `${step}\n${shown}`)
      }
      const { code, out, err } = await runWarder(['root-key', 'move', '--to', to, ...at], variables)
      // The last process may have been killed after its last step was complete.
      assert.ok(code === 0 || err.includes(`in ${to} already`), out + err)
    }
    await start(env)
    assert.match(
      await run(['root-key', 'test', '--to', source], env),
      /^kms {3}https:\S+.*: a random value was/m,
    )
    await move(source, env, ['auth new key', 'auth wrapped', 'kms new key', 'kms wrapped'])
    rmSync(join(home, 'root.key'), { force: true })
    assert.match(await start(inCloud), /"root_key":"https:/)
    await run(['root-key', 'rotate'], inCloud)
    assert.match(await run(['root-key', 'show'], inCloud), where)
    await move('file', inCloud, ['next written', 'auth wrapped', 'kms wrapped'])
    assert.ok(existsSync(join(home, 'root.key')))
    await start(env)
    refuse()
    const { code, out, err } = await runWarder(['root-key', 'test', '--to', source, ...at], env)
    assert.notEqual(code, 0)
    assert.match(out + err, refused)
  })
