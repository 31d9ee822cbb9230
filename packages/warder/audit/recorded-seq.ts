import { basename, resolve } from 'node:path'
import { readRememberedSeq } from '@warder/runtime'
import type { Terminal } from '../cli/command.ts'
import { configure } from '../installation/configuration.ts'
import { serviceNames } from '../installation/services.ts'

/** Reads the number of records that the database of a service has recorded for its log; undefined = not known. */
export async function readRecordedSeq(
  folder: string,
  { home, env }: { readonly home: string; readonly env: Terminal['env'] },
): Promise<number | undefined> {
  const service = serviceNames.find((name) => name === basename(folder))
  if (service === undefined) return undefined
  return readRememberedSeq(service, configure(service, resolve(home), [], env).launch)
}
