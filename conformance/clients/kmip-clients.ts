import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestServer } from '../server/own-server.ts'
import { clientFiles } from './client-files.ts'
import { type ClientRun, type Step, stepsUntilFailure } from './client-run.ts'
import { canRun, runProgram } from './run-program.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** A folder with Python packages, which is removed on disposal; undefined if pip cannot install them. */
export async function installPython(
  ...packages: readonly string[]
): Promise<(Disposable & { readonly env: { readonly PYTHONPATH: string } }) | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-python-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const options = ['--quiet', '--disable-pip-version-check', '--target', folder]
  const install = ['-m', 'pip', 'install', ...options, ...packages]
  const { code } = await runProgram('python3', install, { timeoutMs: 300_000 })
  if (code === 0) return { env: { PYTHONPATH: folder }, [Symbol.dispose]: remove }
  remove()
  return undefined
}

/** PyKMIP of one release, in one version of KMIP. */
export async function runPyKmip(
  server: TestServer,
  release: string,
  versions: readonly string[],
): Promise<readonly ClientRun[]> {
  using python = await installPython(`PyKMIP==${release}`)
  if (python === undefined) return [{ missing: `PyKMIP ${release}: pip cannot install it` }]
  const runs: ClientRun[] = []
  for (const version of versions) {
    const endpoint = await server.as(`pykmip ${release} ${version}`)
    using files = clientFiles(endpoint)
    const { host = '', port = 0 } = endpoint.socket ?? {}
    const args = [here('./pykmip.py'), host, String(port), files.ca, files.cert, files.key, version]
    const { code, out, err } = await runProgram('python3', args, { env: python.env })
    const lines = out.toString('utf8').split('\n').filter(Boolean)
    const steps = lines.map((line) => (JSON.parse(line) as Step).step)
    runs.push({
      client: 'PyKMIP',
      version: release,
      way: `KMIP ${version}, binary over TLS`,
      steps: stepsUntilFailure(steps, code, err),
    })
  }
  return runs
}

/** kmip-go of ovh, in each version and encoding that it has. */
export async function runKmipGo(
  server: TestServer,
  versions: readonly string[],
): Promise<readonly ClientRun[]> {
  const source = here('./kmip-go')
  const folder = mkdtempSync(join(tmpdir(), 'warder-kmip-go-'))
  try {
    const program = join(folder, 'kmip-go')
    if (!canRun('go', ['build', '-C', source, '-o', program, '.'], { GOTOOLCHAIN: 'local' }))
      return [{ missing: 'kmip-go: Go cannot build it' }]
    const release = /ovh\/kmip-go v([\d.]+)/.exec(readFileSync(join(source, 'go.mod'), 'utf8'))?.[1] ?? ''
    const runs: ClientRun[] = []
    for (const version of versions) {
      const endpoint = await server.as(`kmip-go ${version}`)
      using files = clientFiles(endpoint)
      const { host, port } = endpoint.socket ?? {}
      const overHttps = version.startsWith('https-')
      const address = overHttps ? new URL(endpoint.url ?? '').host : `${host}:${port}`
      const { code, out, err } = await runProgram(program, [
        address,
        files.ca,
        files.cert,
        files.key,
        version,
      ])
      const lines = out.toString('utf8').split('\n')
      const steps = lines.filter((line) => line !== '' && line !== 'done')
      runs.push({
        client: 'kmip-go (ovh)',
        version: release,
        way: overHttps
          ? `KMIP over HTTPS, ${version.slice(6).toUpperCase()}`
          : `KMIP ${version}, binary over TLS`,
        steps: stepsUntilFailure(steps, code, err),
      })
    }
    return runs
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Checks the TLS profile of the KMIP socket with the openssl command. */
export async function runOpenssl(server: TestServer): Promise<readonly ClientRun[]> {
  if (!canRun('openssl', ['version'])) return [{ missing: 'openssl: it is not on this machine' }]
  const version = (await runProgram('openssl', ['version'])).out.toString('utf8').split(' ')[1] ?? ''
  const endpoint = await server.as('openssl')
  using files = clientFiles(endpoint)
  const { host, port } = endpoint.socket ?? {}
  const steps: Step[] = []
  for (const [name, ...options] of [
    ['TLS 1.3', '-tls1_3'],
    ['TLS 1.2 with an ECDSA suite', '-tls1_2', '-cipher', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    ['TLS 1.2 with an RSA suite', '-tls1_2', '-cipher', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ] as const) {
    const trust = ['-connect', `${host}:${port}`, '-CAfile', files.ca, '-verify_return_error', '-brief']
    const identity = ['-cert', files.cert, '-key', files.key]
    const { code, err } = await runProgram('openssl', ['s_client', ...trust, ...identity, ...options])
    const why = err.trim().split('\n').at(-1) ?? ''
    steps.push(code === 0 ? { step: name, passed: true } : { step: name, passed: false, why })
  }
  return [{ client: 'openssl s_client', version, way: 'TLS of the KMIP socket, client certificate', steps }]
}
