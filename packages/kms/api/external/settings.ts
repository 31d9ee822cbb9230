/** Settings of all external key stores. */
export const externalSettings = {} as const
