//! Prices of OpenRouter's catalogue for routes to the providers themselves.

use crate::price::Price;
use crate::providers::known;
use crate::route::{ModelFacts, Route};
use std::collections::BTreeMap;

/// Providers whose models OpenRouter lists at their own prices, and the name they have there.
const VENDORS: [(&str, &str); 4] =
    [("openai", "openai"), ("openai-responses", "openai"), ("anthropic", "anthropic"), ("gemini", "google")];

/// The public catalogue by normalized name; `None` where two models of one name differ in price.
#[derive(Debug, Default)]
pub(super) struct Public {
    prices: BTreeMap<String, Option<Price>>,
}

impl Public {
    pub(super) fn of(models: &[ModelFacts]) -> Self {
        let mut public = Self::default();
        for facts in models {
            let Some(price) = &facts.price else { continue };
            public
                .prices
                .entry(normalized(&facts.model))
                .and_modify(|known| {
                    if known.as_ref() != Some(price) {
                        *known = None;
                    }
                })
                .or_insert_with(|| Some(price.clone()));
        }
        public
    }

    /// The price of a route's model, when the route goes to the model's own provider.
    pub(super) fn price(&self, route: &Route) -> Option<Price> {
        let (_, vendor) = VENDORS.iter().find(|(name, _)| *name == route.provider.name)?;
        if !known(&route.provider.name)?.is_genuine(&route.provider) {
            return None;
        }
        let of = |model: &str| self.prices.get(&normalized(&format!("{vendor}/{model}"))).cloned().flatten();
        of(&route.model).or_else(|| of(undated(vendor, &route.model)?))
    }
}

/// Lower case, with hyphens for dots: one provider writes 4-5 where another writes 4.5.
fn normalized(model: &str) -> String {
    model.to_lowercase().replace('.', "-")
}

/// Anthropic's names end with the date of the model they name, and there is one model to a name. Other providers' dates tell models of
/// different prices apart.
fn undated<'a>(vendor: &str, model: &'a str) -> Option<&'a str> {
    let (name, date) = model.rsplit_once('-')?;
    let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    (vendor == "anthropic" && is_date).then_some(name)
}

/// A price, and those that hold instead of it under conditions.
pub(super) fn all(price: &Price) -> impl Iterator<Item = Price> {
    let tiers = price.tiers.iter().flatten().map(|tier| tier.price.clone());
    std::iter::once(Price { tiers: None, ..price.clone() }).chain(tiers)
}
