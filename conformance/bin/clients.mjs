import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { clientsPage } from '../clients/page.ts'
import { runAllClients } from '../clients/run-all.ts'

const runs = await runAllClients((line) => process.stdout.write(`${line}\n`))
writeFileSync(fileURLToPath(new URL('../../docs/reference/clients.md', import.meta.url)), clientsPage(runs))
