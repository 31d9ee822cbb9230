import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startKms } from '@warder/kms/testing'
import { type ClientRun, parseSteps } from './client-run.ts'
import { installPackages } from './npm-package.ts'
import { runProgram } from './run-program.ts'

const folder = fileURLToPath(new URL('./cloudproof', import.meta.url))

/** Steps that need formats of the Covercrypt before version 16: they are refused with an error message. */
export function isOldCovercrypt(step: string): boolean {
  return step.startsWith('Covercrypt before version 16: ')
}

/**
 * Runs cloudproof_kms_js, from npm, against a separate server. Because of its licence (AGPL) it is not part of the
 * product.
 */
export async function runCloudproof(): Promise<ClientRun> {
  const packages = await installPackages(folder)
  if ('missing' in packages) return packages
  using installed = packages
  await using kms = await startKms()
  const address = `https://localhost:${kms.port}/`
  const { code, out, err } = await runProgram(
    process.execPath,
    [join(folder, 'drive.mjs'), installed.folder, address, kms.token({ sub: 'alice' })],
    { env: { NODE_EXTRA_CA_CERTS: join(kms.environment.home, 'tls', 'ca.crt') } },
  )
  if (code !== 0) throw new Error(`the driver of cloudproof_kms_js ended with ${code}: ${err}`)
  return {
    client: 'cloudproof_kms_js',
    version: '4.0.0',
    way: 'JSON, bare operations at `/kmip/2_1`, bearer token',
    steps: parseSteps(out.toString('utf8')),
  }
}
