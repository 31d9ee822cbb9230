let lists = 0

/** Revocation lists that threads of this event loop are putting together. */
export const listsInWork = (): number => lists

export async function trackList<R>(make: () => Promise<R>): Promise<R> {
  lists += 1
  try {
    return await make()
  } finally {
    lists -= 1
  }
}
