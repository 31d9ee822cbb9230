/** Bytes that all parts of one operation may have together: they are kept until its end. */
export const maximumStreamBytes = 16 * 2 ** 20
