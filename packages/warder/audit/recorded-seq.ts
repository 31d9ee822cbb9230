import { basename, resolve } from 'node:path'
import { readRememberedSeq } from '@warder/foundation/runtime'
import type { Terminal } from '../cli/command.ts'
import { configure } from '../installation/configuration.ts'
import { serviceNames } from '../installation/services.ts'

/** How many records of a log of a home the database of its service knows of; undefined = that cannot be said. */
export async function readRecordedSeq(
  folder: string,
  { home, env }: { readonly home: string; readonly env: Terminal['env'] },
): Promise<number | undefined> {
  const service = serviceNames.find((name) => name === basename(folder))
  if (service === undefined) return undefined
  return readRememberedSeq(service, configure(service, resolve(home), [], env).launch)
}
