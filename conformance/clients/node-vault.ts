import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ClientRun, parseSteps } from './client-run.ts'
import { startWithMachineRole } from './machine-role.ts'
import { installPackages } from './npm-package.ts'
import { runProgram } from './run-program.ts'
import { startTransit } from './vault-transit.ts'

const folder = fileURLToPath(new URL('./node-vault', import.meta.url))

/** node-vault, from npm, acts as a machine and knows only the address of the kms. */
export async function runNodeVault(): Promise<ClientRun> {
  const packages = await installPackages(folder)
  if ('missing' in packages) return packages
  using installed = packages
  const { warder, roleId, secretId } = await startWithMachineRole()
  try {
    const { code, out, err } = await runProgram(
      process.execPath,
      [join(folder, 'drive.mjs'), installed.folder, warder.kmsUrl, roleId, secretId],
      { env: { NODE_EXTRA_CA_CERTS: warder.caFile } },
    )
    if (code !== 0) throw new Error(`the driver of node-vault ended with ${code}: ${err}`)
    return {
      client: 'node-vault (npm)',
      version: '0.12.0',
      way: 'machine logins through the kms',
      steps: parseSteps(out.toString('utf8')),
    }
  } finally {
    await warder.stop()
  }
}

/** node-vault, from npm, uses keys over the transit interface. */
export async function runTransitNodeVault(): Promise<ClientRun> {
  const packages = await installPackages(folder)
  if ('missing' in packages) return packages
  using installed = packages
  const { warder, token } = await startTransit()
  try {
    const { code, out, err } = await runProgram(
      process.execPath,
      [join(folder, 'drive-transit.mjs'), installed.folder, warder.kmsUrl, token],
      { env: { NODE_EXTRA_CA_CERTS: warder.caFile } },
    )
    if (code !== 0) throw new Error(`the driver of node-vault ended with ${code}: ${err}`)
    return {
      client: 'node-vault (npm)',
      version: '0.12.0',
      way: 'transit',
      steps: parseSteps(out.toString('utf8')),
    }
  } finally {
    await warder.stop()
  }
}
