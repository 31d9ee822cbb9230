import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startInstallation } from 'warder/testing'
import { type ClientRun, stepsUntilFailure } from './client-run.ts'
import { installPython } from './kmip-clients.ts'
import { canRun, runProgram } from './run-program.ts'
import { makeSamlRealm } from './saml-realm.ts'

const script = fileURLToPath(new URL('./saml-pysaml2.py', import.meta.url))
const release = '7.5.5'
/** Name of `mail` in pysaml2 (RFC 4524 §2.16). */
const mailAttribute = 'urn:oid:0.9.2342.19200300.100.1.3'

/** Output of the driver, a step a line, and the way it ended. */
export interface PySaml2Run {
  readonly code: number | null
  readonly err: string
  readonly steps: readonly string[]
}

export function hasXmlsec(): boolean {
  return canRun('xmlsec1', ['--version'])
}

/** pysaml2 as the identity provider of a realm: its driver is the browser, too. */
export async function drivePySaml2(env: Readonly<Record<string, string>>): Promise<PySaml2Run> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-pysaml2-'))
  const warder = await startInstallation()
  try {
    const made = await runProgram('python3', [script, 'metadata', folder], { env })
    if (made.code !== 0) return { code: made.code, err: made.err, steps: [] }
    await makeSamlRealm(warder, made.out.toString('utf8'), mailAttribute)
    const places = [folder, warder.authUrl, warder.caFile, warder.kmsUrl]
    const { code, out, err } = await runProgram('python3', [script, 'drive', ...places], { env })
    const lines = out.toString('utf8').split('\n').filter(Boolean)
    return { code, err, steps: lines.map((line) => JSON.parse(line).step as string) }
  } finally {
    await warder.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** For the page of clients. */
export async function runPySaml2(): Promise<readonly ClientRun[]> {
  if (!hasXmlsec()) return [{ missing: 'pysaml2: it needs the program xmlsec1' }]
  using python = await installPython(`pysaml2==${release}`)
  if (python === undefined) return [{ missing: `pysaml2 ${release}: pip cannot install it` }]
  const { code, err, steps } = await drivePySaml2(python.env)
  return [
    {
      client: 'pysaml2 (PyPI) with xmlsec1',
      version: release,
      way: 'identity provider of a realm, SAML 2.0',
      steps: stepsUntilFailure(steps, code, err),
    },
  ]
}
