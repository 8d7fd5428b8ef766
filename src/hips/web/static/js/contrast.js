// Why ε matters, on a level: a method with ε beside the one without what it adds.

/** `{domain, methods}` to compare, best of the domain `first`; null where nothing offers it. */
export function findContrast({ domains, methods }, first) {
  const usable = (domain) => domain.methods.find((name) => methods[name].settings.includes("epsilon")
    && domain.methods.includes(methods[name].contrast));
  const domain = [first, ...domains].find((one) => one?.example && usable(one));
  if (!domain) return null;
  const method = usable(domain);
  return { domain, methods: [method, methods[method].contrast] };
}
