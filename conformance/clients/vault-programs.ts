import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClientRun, Step } from './client-run.ts'
import { canRun, type Ran, runProgram } from './run-program.ts'
import { startTransit } from './vault-transit.ts'

/** Programs in Go that use keys over the transit interface: their paths, and the command for their version. */
const programs = {
  cosign: { variable: 'WARDER_COSIGN', version: ['version'], way: 'transit, `hashivault://`' },
  sops: { variable: 'WARDER_SOPS', version: ['--version'], way: 'transit, `hc_vault_transit`' },
} as const
type Name = keyof typeof programs

function findProgram(name: Name): string {
  return process.env[programs[name].variable] ?? name
}

/** Why a program is not run; false: it is here. */
export function missingProgram(name: Name): string | false {
  const { variable, version } = programs[name]
  if (canRun(findProgram(name), version)) return false
  return `${name} is not here: install it, or set ${variable} to the program`
}

/** Context of a driver: an installation, a folder, and the program with the token of a machine. */
interface VaultTarget {
  readonly kmsUrl: string
  path(file: string): string
  /** @throws Error with the output of the program, when it fails */
  run(...args: readonly string[]): Promise<Buffer>
  /** Environment of the program from now on. */
  set(variable: string, value: string): void
  /** @throws Error when it succeeds */
  fails(...args: readonly string[]): Promise<void>
  /** Makes a key of the transit interface (`NAME`), or rotates it (`NAME/rotate`). */
  key(path: string): Promise<void>
  step(name: string, act: () => Promise<void>): Promise<void>
}

async function drive(name: Name, act: (place: VaultTarget) => Promise<void>): Promise<ClientRun> {
  const missing = missingProgram(name)
  if (missing !== false) return { missing }
  const program = findProgram(name)
  const { warder, token } = await startTransit()
  const folder = mkdtempSync(join(tmpdir(), `warder-${name}-`))
  const kms = warder.client('kms')
  const steps: Step[] = []
  const env: Record<string, string> = {
    VAULT_ADDR: warder.kmsUrl,
    VAULT_TOKEN: token,
    VAULT_CACERT: warder.caFile,
    HOME: folder,
    COSIGN_PASSWORD: '',
    SOPS_DISABLE_VERSION_CHECK: '1',
  }
  const startProgram = (args: readonly string[]): Promise<Ran> => runProgram(program, args, { env })
  try {
    await act({
      kmsUrl: warder.kmsUrl,
      path: (file) => join(folder, file),
      async run(...args) {
        const { code, out, err } = await startProgram(args)
        if (code !== 0) throw new Error(err.trim().split('\n').at(-1) ?? `it ended with ${code}`)
        return out
      },
      set(variable, value) {
        env[variable] = value
      },
      async fails(...args) {
        if ((await startProgram(args)).code === 0) throw new Error('it succeeded')
      },
      async key(path) {
        const headers = { 'X-Vault-Token': token }
        const { status, text } = await kms.ask(`/v1/transit/keys/${path}`, { json: {}, headers })
        if (status !== 200) throw new Error(text)
      },
      async step(what, run) {
        const why = await run().then(
          () => undefined,
          (error: unknown) => (error instanceof Error ? error.message : String(error)),
        )
        steps.push({ step: what, passed: why === undefined, ...(why !== undefined && { why }) })
      },
    })
    const { out } = await startProgram(programs[name].version)
    const [version = '?'] = /\d+\.\d+\.\d+/.exec(out.toString('utf8')) ?? []
    return { client: `${name} (Go)`, version, way: programs[name].way, steps }
  } finally {
    kms.close()
    rmSync(folder, { recursive: true, force: true })
    await warder.stop()
  }
}

/** cosign makes a key, signs and verifies with it, and goes on after a rotation. */
export function runCosign(): Promise<ClientRun> {
  return drive('cosign', async ({ path, run, set, fails, key: transitKey, step }) => {
    const key = ['--key', 'hashivault://release']
    const file = path('app')
    const sign = (signature: string) =>
      run('sign-blob', ...key, '--tlog-upload=false', '--yes', '--output-signature', path(signature), file)
    const verifying = (signature: string) =>
      ['verify-blob', ...key, '--insecure-ignore-tlog=true', '--signature', path(signature), file] as const
    writeFileSync(file, 'attack at dawn')
    await step('generate-key-pair', async () => {
      await run('generate-key-pair', '--kms', 'hashivault://release', '--output-key-prefix', path('release'))
    })
    await step('public-key', async () => {
      const pem = await run('public-key', ...key)
      if (!pem.includes('BEGIN PUBLIC KEY')) throw new Error('it gave no public key')
    })
    await step('sign-blob and verify-blob', async () => {
      await sign('first')
      await run(...verifying('first'))
    })
    await step('sign-blob after a rotation, and verify-blob of both signatures', async () => {
      await transitKey('release/rotate')
      await sign('second')
      await run(...verifying('first'))
      // cosign stores no version with a signature, and uses the first one unless this variable names another.
      set('VAULT_KEY_PREFIX', 'vault:v2:')
      await run(...verifying('second'))
      await fails(...verifying('first'))
    })
    await step('verify-blob refuses another file', async () => {
      writeFileSync(file, 'attack at dusk')
      await fails(...verifying('second'))
    })
  })
}

/** sops encrypts a file, opens it after a rotation, and rotates the data key of the file. */
export function runSops(): Promise<ClientRun> {
  return drive('sops', async ({ kmsUrl, path, run, fails, key: transitKey, step }) => {
    const [plain, sealed, other] = [path('secrets.json'), path('sealed.json'), path('other.json')]
    const secret = { password: 'attack at dawn' }
    writeFileSync(plain, JSON.stringify(secret))
    const assertOpens = async () => {
      const found = JSON.parse((await run('--decrypt', sealed)).toString('utf8'))
      if (found.password !== secret.password) throw new Error('the file opens as something else')
    }
    const key = `${kmsUrl}/v1/transit/keys/files`
    await transitKey('files')
    await step('encrypt', async () => {
      const text = (await run('--encrypt', '--hc-vault-transit', key, plain)).toString('utf8')
      if (!text.includes('vault:v1:') || text.includes(secret.password)) throw new Error(text.slice(0, 200))
      writeFileSync(sealed, text)
    })
    await step('decrypt', assertOpens)
    await step('decrypt after a rotation', async () => {
      await transitKey('files/rotate')
      await assertOpens()
    })
    await step('rotate the data key of the file', async () => {
      await run('rotate', '--in-place', sealed)
      if (!readFileSync(sealed, 'utf8').includes('vault:v2:')) throw new Error('it names the old version')
      await assertOpens()
    })
    await step('a changed file is refused', async () => {
      writeFileSync(
        other,
        readFileSync(sealed, 'utf8').replace(/ENC\[AES256_GCM,data:./, 'ENC[AES256_GCM,data:A'),
      )
      await fails('--decrypt', other)
    })
  })
}
