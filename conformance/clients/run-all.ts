import { startOwnServer } from '../server/own-server.ts'
import type { ClientRun } from './client-run.ts'
import { runCloudproof } from './cloudproof.ts'
import { runJoseClients } from './jose-clients.ts'
import { runKmipGo, runOpenssl, runPyKmip } from './kmip-clients.ts'
import { runNodeVault, runTransitNodeVault } from './node-vault.ts'
import { runPySaml2 } from './saml-pysaml2.ts'
import { runSimpleSamlPhp } from './simplesamlphp.ts'
import { runHvac } from './vault-hvac.ts'
import { runVaultKubernetesKms } from './vault-kubernetes-kms.ts'
import { runCosign, runSops } from './vault-programs.ts'
import { runTransitHvac } from './vault-transit.ts'

const pythonVersions = ['1.0', '1.1', '1.2', '1.3', '1.4', '2.0']
const goVersions = ['1.0', '1.1', '1.2', '1.3', '1.4', 'https-ttlv', 'https-xml', 'https-json']

/** Runs every client, one after the other. Clients that cannot be installed are reported and skipped. */
export async function runAllClients(print: (line: string) => void): Promise<readonly ClientRun[]> {
  await using server = await startOwnServer()
  const runs: ClientRun[] = []
  for (const run of [
    async () => [await runCloudproof()],
    () => runPyKmip(server, '0.10.0', pythonVersions),
    () => runPyKmip(server, '0.11.0', pythonVersions),
    () => runKmipGo(server, goVersions),
    () => runOpenssl(server),
    runJoseClients,
    runHvac,
    runTransitHvac,
    async () => [await runTransitNodeVault()],
    async () => [await runCosign()],
    async () => [await runSops()],
    async () => [await runVaultKubernetesKms()],
    async () => [await runNodeVault()],
    runSimpleSamlPhp,
    runPySaml2,
  ]) {
    for (const result of await run()) {
      runs.push(result)
      if ('missing' in result) print(`missing ${result.missing}`)
      else {
        const passed = result.steps.filter((step) => step.passed).length
        print(`${result.client} ${result.version}, ${result.way}: ${passed} of ${result.steps.length}`)
      }
    }
  }
  return runs
}
